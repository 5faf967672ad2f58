"""Clients of the REST door, things that Alice owns, and a database that threads share."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.db import connections
from rest_framework.test import APIClient

from accounts.services import token_create
from agents.loop import Answer
from agents.models import Run
from agents.providers.base import ToolCallPart
from agents.services import message_send, run_begin, turn_save
from hermes_site.lib.database import database_threads
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


@pytest.fixture(scope="session")
def template(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The migrated test database once more, to copy from: a file, or a name on the server."""
    with django_db_blocker.unblock():
        wrapper: Any = connections["default"]
        if wrapper.vendor == "sqlite":
            path = tmp_path_factory.mktemp("template") / "template.db"
            wrapper.ensure_connection()
            with closing(sqlite3.connect(path)) as target:
                wrapper.connection.backup(target)
            yield str(path)
            return
        # A database can be copied while nobody is in it.
        wrapper.close()
        name = f"{wrapper.settings_dict['NAME']}_template"
        _on_server(wrapper, f'CREATE DATABASE "{name}" TEMPLATE "{wrapper.settings_dict["NAME"]}"')
        yield name
        _on_server(wrapper, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def committed(template: str, db: None, valkey: Any, tmp_path: Path) -> Iterator[None]:
    """A database of this test's own, to which threads commit."""
    wrapper: Any = connections["default"]
    old, copy = wrapper.settings_dict["NAME"], f"{template}_copy"
    if wrapper.vendor == "sqlite":
        copy = shutil.copy(template, tmp_path / "copy.db")
    else:
        _on_server(wrapper, f'CREATE DATABASE "{copy}" TEMPLATE "{template}"')
    wrapper.settings_dict["NAME"] = str(copy)
    connections["default"] = fresh = connections.create_connection("default")
    database_threads.cache_clear()
    try:
        yield
    finally:
        database_threads.cache_clear()
        fresh.close()
        wrapper.settings_dict["NAME"] = old
        connections["default"] = wrapper
        if wrapper.vendor != "sqlite":
            _on_server(wrapper, f'DROP DATABASE "{copy}" WITH (FORCE)')


def _on_server(wrapper: Any, statement: str) -> None:
    with wrapper._nodb_cursor() as cursor:
        cursor.execute(statement)
