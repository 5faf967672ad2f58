"""A database of a test's own, to which threads commit.

The in-memory SQLite of the other tests has one connection, and their rows are never committed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

__all__ = ["database_copy", "own_database"]


@pytest.fixture
def database_copy(django_db_setup: None, django_db_blocker: Any, tmp_path: Path) -> Iterator[str]:
    """The migrated test database once more: a file, or a name on the server."""
    wrapper: Any = connections["default"]
    with django_db_blocker.unblock():
        if wrapper.vendor == "sqlite":
            path = tmp_path / "copy.db"
            wrapper.ensure_connection()
            with closing(sqlite3.connect(path)) as target:
                wrapper.connection.backup(target)
            yield str(path)
            return
        # A database can be copied while nobody is in it.
        wrapper.close()
        source = wrapper.settings_dict["NAME"]
        name = f"{source}_own"
        with wrapper._nodb_cursor() as cursor:
            cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE "{source}"')
        yield name
        with wrapper._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def own_database(database_copy: str, db: None, valkey: Any) -> Iterator[None]:
    """Every thread of the test works with the copy."""
    wrapper: Any = connections["default"]
    before = wrapper.settings_dict["NAME"]
    wrapper.settings_dict["NAME"] = database_copy
    connections["default"] = fresh = connections.create_connection("default")
    try:
        yield
    finally:
        fresh.close()
        wrapper.settings_dict["NAME"] = before
        connections["default"] = wrapper
