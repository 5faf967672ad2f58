"""What the model providers share: the event stream, errors, the layout of a history."""
