"""Runs of Alice's whose turns are worked without a model, as in the tests of the agents layer."""

from __future__ import annotations

from tests.agents.conftest import begin, model, save, send, session, wakes
from tests.fakes.databases import database_copy, own_database

__all__ = ["begin", "database_copy", "model", "own_database", "save", "send", "session", "wakes"]
