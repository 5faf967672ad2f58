"""Reading of the agents layer."""
