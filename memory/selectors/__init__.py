"""Reading of the memory layer."""
