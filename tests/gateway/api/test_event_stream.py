"""The event stream as an address of the API: who may open it."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from memory.services import session_create
from tests.gateway.api.conftest import Client


@pytest.fixture
def house(committed: None) -> Any:
    people = {
        name: User.objects.create_user(f"{name}@example.com", None, is_superuser=name == "admin")
        for name in ("alice", "carol", "admin")
    }
    return people, session_create(people["alice"])


def opened(client: Any, path: str) -> int:
    answer = client.get(path)
    answer.close()
    return int(answer.status_code)


def test_only_the_owner_may_listen(house: Any) -> None:
    people, session = house
    path = f"sessions/{session.pk}/events"
    for form in (path, f"{path}/"):
        assert opened(Client(people["alice"]), form) == 200
        assert opened(Client(people["alice"], scopes=["chat"]), form) == 200
        assert opened(Client(people["alice"], scopes=["approve", "account"]), form) == 403
        assert opened(Client(people["carol"]), form) == 404
        assert opened(Client(people["admin"]), form) == 404
        assert opened(Client(), form) == 401
    disabled = Client(people["alice"])
    User.objects.filter(pk=people["alice"].pk).update(is_active=False)
    assert opened(disabled, path) == 401


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_it_is_only_read(house: Any, method: str) -> None:
    people, session = house
    answer = getattr(Client(people["alice"]), method)(f"sessions/{session.pk}/events")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize("after", ["x", "-1", "1.5", "9" * 30, "%00"])
def test_a_bad_place_is_refused(house: Any, after: str) -> None:
    people, session = house
    answer = Client(people["alice"]).get(f"/api/v1/sessions/{session.pk}/events?after={after}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


def test_a_browser_that_comes_back_goes_on_where_it_was(house: Any) -> None:
    """Its ``Last-Event-ID`` is newer than the ``after`` of the address."""
    people, session = house
    path = f"/api/v1/sessions/{session.pk}/events?after=1"
    answer = Client(people["alice"]).get(path, headers={"Last-Event-ID": "nonsense"})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
