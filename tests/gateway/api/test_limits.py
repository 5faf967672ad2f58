"""The message limit at the REST door: exact, said with its end, and without Redis too (P31)."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import pytest

from accounts.models import User
from accounts.services import limit_set
from agents.models import Run
from hermes_site.lib import redis
from memory.models import Message
from memory.services import session_create
from tests.gateway.api.conftest import Client
from tests.gateway.api.test_approvals import at_once

pytestmark = pytest.mark.rows


@pytest.fixture
def alone(settings: Any) -> Any:
    """Redis is away."""
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    redis._client.cache_clear()
    yield
    redis._client.cache_clear()


def say(client: Any, session: Any, **more: Any) -> Any:
    return client.post(f"sessions/{session.pk}/messages", {"text": "hello", **more})


@pytest.mark.django_db
def test_ten_messages_a_minute_and_not_one_more(api: Any, session: Any) -> None:
    assert [say(api, session).status_code for _ in range(10)] == [202] * 10
    for _ in range(3):
        refused = say(api, session)
        assert refused.status_code == 429
    body = refused.json()
    assert body["code"] == "rate_limited"
    assert (body["extra"]["action"], body["extra"]["limit"]) == ("message", 10)
    assert 1 <= int(refused.headers["Retry-After"]) == body["extra"]["retry_after"] <= 60
    datetime.fromisoformat(body["extra"]["reset_at"])
    assert Message.objects.count() == 10
    # Being refused cost nothing of the hour, and once the minute is over there are ten more.
    for key in redis.client().scan_iter(f"{redis.PREFIX}l:*:message:60"):
        redis.client().delete(key)
    assert say(api, session).status_code == 202
    (hour,) = [r for r in api.get("me").json()["limits"] if r["seconds"] == 3600]
    assert (hour["limit"], hour["left"]) == (200, 189)


@pytest.mark.django_db
def test_what_is_not_accepted_is_not_counted(api: Any, session: Any) -> None:
    for body in (
        {"text": ""},
        {"text": 5},
        {"text": "x", "engine": "none"},
        {"text": "x" * 200_000},
    ):
        assert api.post(f"sessions/{session.pk}/messages", body).status_code in (400, 413)
    say(api, session, client_id="once")
    for _ in range(20):
        assert say(api, session, client_id="once").status_code == 202
    messages = [r for r in api.get("me").json()["limits"] if r["action"] == "message"]
    assert {r["seconds"]: r["left"] for r in messages} == {60: 9, 3600: 199}


@pytest.mark.django_db
def test_without_redis_rows_are_counted(api: Any, session: Any, alone: None) -> None:
    assert [say(api, session).status_code for _ in range(12)] == [202] * 10 + [429] * 2
    assert Message.objects.count() == 10
    assert {row["left"] for row in api.get("me").json()["limits"]} == {None}


@pytest.mark.parametrize("trial", range(3))
def test_of_fifty_at_once_exactly_ten_pass(committed: None, trial: int) -> None:
    alice = User.objects.create_user("alice@example.com", None, level="auto")
    sessions = [session_create(alice) for _ in range(50)]
    clients = [Client(alice) for _ in range(10)]
    answers = at_once(50, lambda i: say(clients[i % 10], sessions[i]))
    assert Counter(a.status_code for a in answers) == {202: 10, 429: 40}
    assert (Message.objects.count(), Run.objects.count()) == (10, 10)


def test_the_same_client_id_at_once_is_one_message_and_one_run(committed: None) -> None:
    alice = User.objects.create_user("alice@example.com", None, level="auto")
    limit_set(subject="everyone", action="message", rate="1000/m", actor="test")
    session, clients = session_create(alice), [Client(alice) for _ in range(10)]
    answers = at_once(30, lambda i: say(clients[i % 10], session, client_id="same"))
    assert Counter(a.status_code for a in answers) == {202: 30}
    assert len({a.content for a in answers}) == 1
    assert (Message.objects.count(), Run.objects.count()) == (1, 1)
    assert str(Run.objects.get().pk) == answers[0].json()["run"]


def test_an_edit_at_once_is_one_branch(committed: None) -> None:
    from tests.gateway.api.conftest import answered

    alice = User.objects.create_user("alice@example.com", None, level="auto")
    limit_set(subject="everyone", action="message", rate="1000/m", actor="test")
    run = answered(alice, session_create(alice))
    clients = [Client(alice) for _ in range(10)]
    answers = at_once(
        20, lambda i: clients[i % 10].post(f"messages/{run.message_id}/edit", {"text": "again"})
    )
    assert Counter(a.status_code for a in answers) == {202: 1, 409: 19}
    assert Run.objects.count() == 2


def test_a_message_against_the_deletion_of_its_session(committed: None) -> None:
    alice = User.objects.create_user("alice@example.com", None, level="auto")
    limit_set(subject="everyone", action="message", rate="1000/m", actor="test")
    api, other = Client(alice), Client(alice)
    for _ in range(10):
        session = session_create(alice)
        said, deleted = at_once(
            2,
            lambda i, s=session: say(api, s) if i == 0 else other.delete(f"sessions/{s.pk}"),
        )
        assert deleted.status_code == 204
        assert said.status_code in (202, 404)
    assert (Message.objects.count(), Run.objects.count()) == (0, 0)
