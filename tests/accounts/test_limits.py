"""Limits: exact at the edge of number and time, for many at once, and without Redis (P31)."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group

from accounts.models import LimitRule, User
from accounts.selectors.limit import Window, keys, limits_left, windows_for
from accounts.services import limit_set, limit_spend, limit_take
from accounts.services.limit import RateLimited
from hermes_site.lib import redis
from hermes_site.lib.errors import UserFacing
from tests.gateway.api.test_approvals import at_once

NOON = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
UNHOLDABLE = ["10/0m", "10/0s", "1000000000000/m", "5/99999999999d", "-1/m", "1/w"]


@pytest.fixture
def three(db: None) -> None:
    """Everyone may send three messages a minute, and nothing else limits."""
    LimitRule.objects.all().delete()
    limit_set(subject="everyone", action="message", rate="3/m", actor="test")


@pytest.fixture
def alone(settings: Any) -> Any:
    """Redis is away."""
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    redis._client.cache_clear()
    yield
    redis._client.cache_clear()


def counter(user: User, seconds: int = 60) -> str:
    return keys(user, "message", [Window(Decimal(0), seconds)])[0]


def taken(user: User, times: int) -> list[bool]:
    """Which of so many attempts were let through."""
    passed = []
    for _ in range(times):
        try:
            limit_take(user, "message")
            passed.append(True)
        except RateLimited:
            passed.append(False)
    return passed


def test_the_limit_passes_and_one_more_does_not(three: None, alice: Any, valkey: Any) -> None:
    assert taken(alice, 5) == [True, True, True, False, False]
    assert redis.client().get(counter(alice)) == b"3"


def test_one_users_messages_are_not_anothers(
    three: None, alice: Any, bob: Any, valkey: Any
) -> None:
    assert taken(alice, 4)[-1] is False
    assert taken(bob, 3) == [True] * 3


def test_a_full_hour_does_not_use_up_the_minute(three: None, alice: Any, valkey: Any) -> None:
    LimitRule.objects.create(scope="everyone", action="message", amount=3, seconds=3600)
    assert taken(alice, 3) == [True] * 3
    redis.client().delete(counter(alice))
    with pytest.raises(RateLimited) as refused:
        limit_take(alice, "message")
    assert refused.value.extra["seconds"] == 3600
    assert redis.client().exists(counter(alice)) == 0


def test_the_window_ends_where_it_began_to_count(three: None, alice: Any, valkey: Any) -> None:
    assert taken(alice, 2) == [True, True]
    redis.client().pexpire(counter(alice), 400)
    # Neither a hit that passes nor one that is refused moves the end.
    assert taken(alice, 2) == [True, False]
    assert 0 < redis.client().pttl(counter(alice)) <= 400
    while redis.client().exists(counter(alice)):
        time.sleep(0.02)
    assert taken(alice, 4) == [True, True, True, False]
    assert 400 < redis.client().pttl(counter(alice)) <= 60_000


@pytest.mark.rows
@pytest.mark.parametrize("trial", range(3))
def test_of_fifty_at_once_exactly_the_limit_passes(own_database: None, trial: int) -> None:
    alice = User.objects.create_user("alice@example.com", None, level="auto")
    limit_set(subject="everyone", action="message", rate="7/m", actor="test")
    passed = at_once(50, lambda i: taken(alice, 1))
    assert passed.count([True]) == 7
    assert redis.client().get(counter(alice)) == b"7"


def test_no_counter_is_without_an_end(alice: Any, valkey: Any) -> None:
    for action in ("message", "tool_call", "tokens", "cost"):
        limit_set(subject="everyone", action=action, rate="5/h", actor="test")
        limit_take(alice, action)
        limit_spend(alice, action, 100)
        with pytest.raises(RateLimited):
            limit_take(alice, action)
    found = list(redis.client().scan_iter("*"))
    # Two of messages and of tool calls ship with a minute besides; each action has its mark.
    assert len(found) == 6 + 4
    assert all(0 < redis.client().ttl(key) <= 3600 for key in found)
    # A counter that has lost its end gets one with the next hit.
    redis.client().persist(counter(alice, 3600))
    limit_spend(alice, "message", 1)
    assert redis.client().ttl(counter(alice, 3600)) > 0


def test_the_error_says_when_it_is_free_again(three: None, alice: Any, valkey: Any) -> None:
    taken(alice, 3)
    redis.client().pexpire(counter(alice), 30_000)
    with time_machine.travel(NOON, tick=False), pytest.raises(RateLimited) as refused:
        limit_take(alice, "message")
    error = refused.value
    reset = datetime.fromisoformat(error.extra["reset_at"])
    assert NOON + timedelta(seconds=25) < reset <= NOON + timedelta(seconds=30)
    assert error.extra["reset_at"] in error.message
    assert "3 messages per minute" in error.message
    assert (error.status, error.code, error.extra["limit"]) == (429, "rate_limited", 3)
    assert 25 < error.retry_after == error.extra["retry_after"] <= 30


def test_without_redis_rows_are_counted_since_the_window_began(
    three: None, alice: Any, alone: None
) -> None:
    sent: list[datetime] = []

    def count(since: datetime) -> int:
        return sum(moment >= since for moment in sent)

    def take() -> None:
        limit_take(alice, "message", count_rows=count)
        sent.append(datetime.now(UTC))

    with time_machine.travel(NOON, tick=False) as clock:
        for _ in range(3):
            take()
        with pytest.raises(RateLimited) as refused:
            take()
        assert refused.value.extra["reset_at"] == "2030-01-01T12:01:00.000Z"
        clock.move_to(NOON + MINUTE)
        with pytest.raises(RateLimited):
            take()
        clock.move_to(NOON + MINUTE + timedelta(milliseconds=1))
        take()
    assert len(sent) == 4
    assert {row["left"] for row in limits_left(alice)} == {None}


def test_user_beats_group_beats_everyone(three: None, alice: Any, bob: Any, valkey: Any) -> None:
    ops, night = Group.objects.create(name="Ops"), Group.objects.create(name="Night")
    limit_set(subject="group:Ops", action="message", rate="5/m", actor="test")
    limit_set(subject="group:Night", action="message", rate="4/m", actor="test")
    assert taken(alice, 4).count(True) == 3
    alice.groups.add(night)
    assert windows_for(alice, "message") == [Window(Decimal(4), 60)]
    alice.groups.add(ops)
    assert taken(alice, 3) == [True, True, False]
    # The user's own row holds even where it is the tighter one.
    limit_set(subject=f"user:{alice.email}", action="message", rate="2/m", actor="test")
    assert windows_for(alice, "message") == [Window(Decimal(2), 60)]
    assert taken(alice, 1) == [False]
    assert taken(bob, 4).count(True) == 3


@pytest.mark.parametrize("rate", UNHOLDABLE)
def test_a_rate_that_could_not_hold_is_refused(three: None, rate: str) -> None:
    with pytest.raises(UserFacing, match="Rate"):
        limit_set(subject="everyone", action="message", rate=rate, actor="test")
    assert [(rule.amount, rule.seconds) for rule in LimitRule.objects.all()] == [(3, 60)]
