"""Reading of the accounts layer."""
