"""A database to which threads commit."""

from __future__ import annotations

from tests.fakes.databases import database_copy, own_database

__all__ = ["database_copy", "own_database"]
