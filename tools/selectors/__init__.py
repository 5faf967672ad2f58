"""Reading of the tools layer."""
