"""Runs in the administration."""

from agents.admin import run

__all__ = ["run"]
