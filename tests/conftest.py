"""Users and guards that every test may lean on.

Alice owns things, Bob is a colleague, Carol a stranger who must see nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import TransactionTestCase


@pytest.fixture(autouse=True, scope="session")
def _flush_may_empty_the_audit_trail() -> Iterator[None]:
    """Tests with real transactions end by emptying every table, also the append-only one."""
    triggers = import_module("accounts.migrations.0002_append_only_audit")
    flush = TransactionTestCase._fixture_teardown

    def teardown(case: TransactionTestCase) -> None:
        create = {"sqlite": triggers.SQLITE, "postgresql": triggers.POSTGRESQL}
        for statements, after in ((triggers.DROP, flush), (create, None)):
            with connection.cursor() as cursor:
                for statement in statements[connection.vendor]:
                    cursor.execute(statement)
            if after:
                after(case)

    TransactionTestCase._fixture_teardown = teardown  # type: ignore[method-assign]
    yield
    TransactionTestCase._fixture_teardown = flush  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def _home(settings: Any, tmp_path: Path) -> None:
    """Files of a test go to its own folder; uniqueness keeps parallel tests apart."""
    from accounts.selectors.limit import LIMIT_RULES
    from memory.services.numbering import NUMBERS
    from tools.selectors.policy import POLICY_TABLES

    settings.HERMES_HOME = tmp_path
    # A thread of its own would not see the test's transaction.
    NUMBERS.inline = True
    # The real hash takes a third of a second for each user of each test.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    for table in (LIMIT_RULES, POLICY_TABLES):
        table.clear()


def _user(email: str, level: str, **fields: Any) -> Any:
    from accounts.models import User

    return User.objects.create_user(email, "correct horse battery", level=level, **fields)


@pytest.fixture
def alice(db: None) -> Any:
    return _user("alice@example.com", "auto", name="Alice")


@pytest.fixture
def bob(db: None) -> Any:
    return _user("bob@example.com", "auto", name="Bob")


@pytest.fixture
def carol(db: None) -> Any:
    return _user("carol@example.com", "full-access", name="Carol")


@pytest.fixture
def admin_user(db: None) -> Any:
    return _user("admin@example.com", "auto", name="Admin", is_staff=True, is_superuser=True)


@pytest.fixture(scope="session")
def _valkey() -> Any:
    from tests.fakes.servers import valkey_server

    with valkey_server() as server:
        yield server


@pytest.fixture
def valkey(_valkey: Any, settings: Any) -> Any:
    """A real Valkey, empty at the start of the test, that the process's clients use."""
    from hermes_site.lib import redis

    settings.REDIS_URL = _valkey.url
    redis._client.cache_clear()
    redis.client().flushall()
    yield _valkey
    redis._client.cache_clear()
