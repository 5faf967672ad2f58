"""Whatever is done to a session while it is being deleted is done, or finds nothing (P12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from accounts.services import limit_set
from memory.models import Session
from memory.services import session_create
from tests.gateway.api.conftest import Client, asked
from tests.gateway.api.test_approvals import at_once
from tools.models import Approval

pytestmark = pytest.mark.rows
ROUNDS = 4
ACTS: dict[str, Callable[[Client, Approval], Any]] = {
    "allow": lambda c, a: c.post(f"approvals/{a.pk}/decide", {"decision": "allow"}),
    "deny": lambda c, a: c.post(f"approvals/{a.pk}/decide", {"decision": "deny"}),
    "cancel": lambda c, a: c.post(f"runs/{a.run_id}/cancel"),
    "steer": lambda c, a: c.post(f"runs/{a.run_id}/steer", {"text": "left"}),
    "send": lambda c, a: c.post(f"sessions/{a.session_id}/messages", {"text": "more"}),
    "rename": lambda c, a: c.patch(f"sessions/{a.session_id}", {"title": "New"}),
    "delete": lambda c, a: c.delete(f"sessions/{a.session_id}"),
}
FINE = {(200, None), (201, None), (202, None), (204, None), (409, "settled"), (404, "not_found")}


@pytest.fixture
def people(committed: None) -> Any:
    limit_set(subject="everyone", action="message", rate="1000/m", actor="test")
    return User.objects.create_user("alice@example.com", None, level="auto")


@pytest.mark.parametrize("act", ACTS)
def test_an_act_against_the_end_of_its_session_is_carried_out_or_finds_nothing(
    people: Any, act: str
) -> None:
    clients = [Client(people) for _ in range(4)]
    for _ in range(ROUNDS):
        (approval,) = asked(people, session_create(people))
        acts = [ACTS[act]] * 3 + [ACTS["delete"]]
        answers = at_once(4, lambda i, acts=acts, approval=approval: acts[i](clients[i], approval))
        told = Counter(
            (a.status_code, a.json()["code"] if a.status_code > 399 else None) for a in answers
        )
        assert told.keys() <= FINE
        assert answers[3].status_code in ((204, 404) if act == "delete" else (204,))
        assert not Session.objects.filter(pk=approval.session_id).exists()
