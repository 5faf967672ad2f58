"""Counters that Redis has lost begin with what the rows say."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from accounts.services import limit_set, limit_take
from accounts.services.limit import RateLimited
from hermes_site.lib.redis import client

pytestmark = pytest.mark.django_db


def test_a_flush_gives_no_second_helping(alice: Any, valkey: Any) -> None:
    limit_set(subject="everyone", action="message", rate="5/m", actor=None)
    rows = 0

    def count(since: datetime) -> float:
        return rows

    for _ in range(3):
        limit_take(alice, "message", count_rows=count)
        rows += 1
    client().flushall()
    for _ in range(2):
        limit_take(alice, "message", count_rows=count)
        rows += 1
    with pytest.raises(RateLimited) as refused:
        limit_take(alice, "message", count_rows=count)
    assert (refused.value.extra["limit"], refused.value.extra["seconds"]) == (5, 60)
    assert all(client().pttl(key) > 0 for key in client().scan_iter())


def test_a_window_that_ended_is_not_counted_from_rows(alice: Any, valkey: Any) -> None:
    limit_set(subject="everyone", action="message", rate="2/s", actor=None)
    limit_set(subject="everyone", action="message", rate="100/m", actor=None)
    for _ in range(2):
        limit_take(alice, "message", count_rows=lambda since: 0)
    (second,) = [key for key in client().scan_iter() if key.endswith(b":1")]
    client().delete(second)  # as its expiry would
    limit_take(alice, "message", count_rows=lambda since: 99)
