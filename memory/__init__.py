"""Sessions, messages and their events: what was said, and what clients are told."""
