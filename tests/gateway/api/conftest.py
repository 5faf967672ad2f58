"""Clients of the REST door, things that Alice owns, and a database that threads share."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections
from rest_framework.test import APIClient

from accounts.services import token_create
from agents.loop import Answer
from agents.models import Run
from agents.providers.base import ToolCallPart
from agents.services import message_send, run_begin, turn_save
from memory.services import session_create
from tools.models import Approval

API = "/api/v1/"
TOUCH = ("shell", {"command": "touch made"})


class Client(APIClient):
    """A client that speaks JSON, by a bearer token unless it is logged in."""

    def __init__(self, user: Any = None, *, scopes: list[str] | None = None) -> None:
        super().__init__(enforce_csrf_checks=True)
        self.default_format = "json"
        if user is not None:
            self.token, secret = token_create(user, scopes=scopes)
            self.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")

    def request(self, **environ: Any) -> Any:
        """Addresses below ``/api/v1/`` are written without it; headers given here win."""
        if not environ["PATH_INFO"].startswith("/"):
            environ["PATH_INFO"] = API + environ["PATH_INFO"]
        return super(APIClient, self).request(**(self._credentials | environ))


@pytest.fixture(autouse=True)
def wakes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, UUID]]:
    """What would have been sent to the broker."""
    sent: list[tuple[str, UUID]] = []
    monkeypatch.setattr("hermes_site.lib.wake.wake", lambda task, id: sent.append((task, id)))
    return sent


@pytest.fixture(autouse=True)
def one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a request must not close the connection that holds the test's transaction."""
    monkeypatch.setattr(connections["default"], "close_if_unusable_or_obsolete", lambda: None)


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A configured account; nothing is sent to it by these tests."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")


@pytest.fixture
def api(alice: Any, valkey: Any) -> Client:
    return Client(alice)


@pytest.fixture
def stranger(carol: Any, valkey: Any) -> Client:
    return Client(carol)


@pytest.fixture
def session(alice: Any, valkey: Any) -> Any:
    return session_create(alice, title="Alice's")


def answered(user: Any, session: Any, text: str = "hello", answer: str = "Hi.") -> Run:
    """A message of ``user`` and its answer, as a worker would leave them."""
    run = message_send(user, session, text=text, surface="api")[1]
    work = run_begin(run.pk, "worker")
    assert work is not None
    turn_save(work.lease, Answer(text=answer), "openai/test")
    run.refresh_from_db()
    return run


def asked(user: Any, session: Any, *calls: tuple[str, dict[str, Any]]) -> list[Approval]:
    """A run whose answer asks for ``calls``; returns the questions, in order."""
    run = message_send(user, session, text="do it", surface="api")[1]
    work = run_begin(run.pk, "worker")
    assert work is not None
    parts = [ToolCallPart(f"c{i}", name, args) for i, (name, args) in enumerate(calls or [TOUCH])]
    turn_save(work.lease, Answer(calls=parts), "openai/test")
    return list(Approval.objects.filter(run_id=run.pk).order_by("id"))


@pytest.fixture
def owned(alice: Any, session: Any) -> Any:
    """One of each thing that Alice can own."""
    from memory.services import attachment_from_text

    done = answered(alice, session)
    (approval,) = asked(alice, session)
    return SimpleNamespace(
        session=session,
        done=done,
        message=done.message,
        run=Run.objects.get(pk=approval.run_id),
        approval=approval,
        token=token_create(alice)[0],
        file=attachment_from_text(alice, name="notes.txt", text="mine", session_id=session.pk),
    )


@pytest.fixture
def committed(
    django_db_setup: None, django_db_blocker: Any, tmp_path: Path, valkey: Any
) -> Iterator[None]:
    """A copy of the test database, as a file or on the server, to which threads commit."""
    from hermes_site.lib.database import database_threads

    with django_db_blocker.unblock():
        connection.ensure_connection()
        make = _copy_sqlite if connection.vendor == "sqlite" else _copy_postgres
        database_threads.cache_clear()
        restore = make(tmp_path)
        try:
            yield
        finally:
            database_threads.cache_clear()
            restore()


def _copy_sqlite(folder: Path) -> Callable[[], None]:
    wrapper: Any = connections["default"]
    name, kept = wrapper.settings_dict["NAME"], wrapper.connection
    with sqlite3.connect(folder / "copy.db") as target:
        kept.backup(target)
    target.close()
    wrapper.connection = None
    wrapper.settings_dict["NAME"] = str(folder / "copy.db")

    def restore() -> None:
        wrapper.close()
        wrapper.settings_dict["NAME"], wrapper.connection = name, kept

    return restore


def _copy_postgres(folder: Path) -> Callable[[], None]:
    wrapper: Any = connections["default"]
    name = wrapper.settings_dict["NAME"]
    copy = f"{name}_copy"
    wrapper.close()

    def command(sql: str) -> None:
        with wrapper._nodb_cursor() as cursor:
            cursor.execute(sql)

    command(f'DROP DATABASE IF EXISTS "{copy}" WITH (FORCE)')
    command(f'CREATE DATABASE "{copy}" TEMPLATE "{name}"')
    wrapper.settings_dict["NAME"] = copy

    def restore() -> None:
        wrapper.close()
        wrapper.settings_dict["NAME"] = name
        command(f'DROP DATABASE IF EXISTS "{copy}" WITH (FORCE)')

    return restore
