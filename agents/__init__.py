"""Runs, the agent loop and the model providers."""
