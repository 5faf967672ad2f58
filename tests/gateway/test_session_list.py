"""The list at the left reaches every session, and pinned ones stand first."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hermes_site.lib import clock
from memory.models import Session


@pytest.fixture
def page(alice: Any, bob: Any, client: Any, valkey: Any) -> Any:
    now = clock.now()
    Session.objects.bulk_create(
        Session(
            user=alice,
            title=f"Talk {n:03}",
            last_active_at=now - timedelta(hours=n),
            pinned=n == 149,
        )
        for n in range(150)
    )
    Session.objects.create(user=bob, title="Talk of Bob")
    client.force_login(alice)
    return lambda **query: client.get("/sessions/", query).content.decode()


def test_a_pinned_session_is_never_too_old(page: Any) -> None:
    html = page()
    assert html.index("Talk 149") < html.index("Talk 000")
    assert "Talk 098" in html
    assert "Talk 099" not in html
    assert 'data-more="200"' in html


def test_more_are_shown_when_asked_for(page: Any) -> None:
    html = page(show="200")
    assert "Talk 148" in html
    assert "data-more" not in html


def test_the_filter_sees_all_of_ones_own(page: Any) -> None:
    html = page(q="tALK 12")
    assert [n for n in range(150) if f"Talk {n:03}" in html] == list(range(120, 130))
    assert "Talk of Bob" not in page(q="Bob")


@pytest.mark.parametrize("show", ["x", "-5", "9" * 30, "٣"])
def test_an_odd_number_is_the_usual_one(page: Any, show: str) -> None:
    assert "Talk 098" in page(show=show)
    assert page(show=show).count("<li>") <= 2000
