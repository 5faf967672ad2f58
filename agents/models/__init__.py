"""Rows of the agents layer."""

from agents.models.run import Run

__all__ = ["Run"]
