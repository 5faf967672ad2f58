"""A session of Alice's, wake-ups kept in a list, and turns worked without a model."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest

from agents.loop import Answer
from agents.models import Run
from agents.providers.base import ToolCallPart
from agents.services import message_send, run_begin, turn_save
from agents.services.lease import Work
from memory.services import session_create


@pytest.fixture
def wakes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, UUID]]:
    """What would have been sent to the broker."""
    sent: list[tuple[str, UUID]] = []
    monkeypatch.setattr("hermes_site.lib.wake.wake", lambda task, id: sent.append((task, id)))
    for place in (
        "agents.services.lease",
        "agents.services.turn",
        "agents.services.sweep",
        "tools.services.recovery",
    ):
        module = import_module(place)
        monkeypatch.setattr(module, "wake", lambda task, id: sent.append((task, id)))
    return sent


@pytest.fixture
def session(alice: Any, valkey: Any, wakes: Any, settings: Any) -> Any:
    settings.HERMES_MODEL = ""
    return session_create(alice)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A configured account; nothing is sent to it by these tests."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")


@pytest.fixture
def send(alice: Any, session: Any, model: None, django_capture_on_commit_callbacks: Any) -> Any:
    """Send a message and return its run."""

    def send(text: str = "hello", **fields: Any) -> Run:
        with django_capture_on_commit_callbacks(execute=True):
            return message_send(alice, session, text=text, surface="api", **fields)[1]

    return send


@pytest.fixture
def begin(django_capture_on_commit_callbacks: Any) -> Callable[[Run], Work | None]:
    def begin(run: Run, owner: str = "worker") -> Work | None:
        with django_capture_on_commit_callbacks(execute=True):
            return run_begin(run.pk, owner)

    return begin


@pytest.fixture
def save(django_capture_on_commit_callbacks: Any) -> Any:
    """Save an answer, or an answer that asks for calls."""

    def save(work: Work, text: str = "", *calls: tuple[str, dict[str, Any]]) -> None:
        parts = [ToolCallPart(f"c{i}", name, args) for i, (name, args) in enumerate(calls)]
        with django_capture_on_commit_callbacks(execute=True):
            turn_save(work.lease, Answer(text=text, calls=parts), "openai/test")

    return save
