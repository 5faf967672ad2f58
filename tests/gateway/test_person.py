"""Pages speak the reader's language and time, and are kept by nobody."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import ApiToken
from accounts.services import token_create
from memory.models import Session

LATE = datetime(2099, 3, 1, 23, 30, tzinfo=UTC)


@pytest.fixture
def said(alice: Any, client: Any, valkey: Any) -> Any:
    client.force_login(alice)
    return Session.objects.create(user=alice)


@pytest.mark.parametrize(("zone", "day"), [("UTC", "2099-03-01"), ("Asia/Shanghai", "2099-03-02")])
def test_times_are_those_of_the_reader(
    alice: Any, client: Any, said: Any, zone: str, day: str
) -> None:
    token, _ = token_create(alice, name="late", days=1)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=LATE)
    alice.timezone = zone
    alice.save()
    assert f"until {day}" in client.get("/settings/").content.decode()
    assert timezone.get_current_timezone_name() == "UTC"


def test_a_page_of_somebody_is_kept_by_nobody(client: Any, said: Any) -> None:
    assert client.get(f"/s/{said.pk}/")["Cache-Control"] == "no-store"
    assert "no-store" not in client.get("/static/portal/chat.js").headers.get("Cache-Control", "")


def test_an_unknown_zone_is_utc(alice: Any, client: Any, said: Any) -> None:
    alice.timezone = "Mars/Olympus"
    alice.save()
    assert client.get(f"/s/{said.pk}/").status_code == 200
