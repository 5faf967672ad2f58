"""Deciding at the REST door: what was shown, once, in time, by its owner (P11, P12)."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.db import connection

from accounts.models import AuditEntry, User
from accounts.services import limit_set, user_set_active, user_set_level
from hermes_site.lib import clock
from memory.services import session_create
from tests.gateway.api.conftest import TOUCH, Client, asked
from tools.execution import run_call
from tools.models import Approval, Grant, ToolCall
from tools.services import approvals_expire
from tools.services.rule import rule_set

pytestmark = pytest.mark.rows
# Of fifty clicks each; ``HERMES_TRIALS`` multiplies them.
TRIALS = 4 * int(os.environ.get("HERMES_TRIALS", "1"))
NOON = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)


def decide(client: Any, approval: Approval, decision: str = "allow", **more: Any) -> Any:
    return client.post(f"approvals/{approval.pk}/decide", {"decision": decision, **more})


def audited(approval: Approval) -> list[str]:
    told = AuditEntry.objects.filter(target=str(approval.pk)).order_by("id")
    return list(told.values_list("action", flat=True))


def at_once(number: int, act: Callable[[int], Any]) -> list[Any]:
    """``act(i)`` in as many threads, let go together; the results in order."""
    gate, results = threading.Barrier(number), [None] * number

    def work(index: int) -> None:
        try:
            gate.wait()
            results[index] = act(index)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.django_db
def test_a_pending_approval_is_listed_shown_and_allowed(
    api: Any, alice: Any, session: Any, wakes: Any
) -> None:
    (approval,) = asked(alice, session)
    (row,) = api.get("approvals?state=pending").json()["results"]
    assert (row["id"], row["tool"], row["category"]) == (str(approval.pk), "shell", "system")
    assert (row["command"], row["arguments"]) == ("touch made", {"command": "touch made"})
    assert (row["state"], row["decision"], row["by"]) == ("pending", None, None)
    assert row["expires_at"] == clock.iso(approval.expires_at)
    wakes.clear()
    decided = decide(api, approval, reason="go on")
    assert decided.status_code == 200
    assert (decided.json()["decision"], decided.json()["by"]) == ("allow", "Alice")
    assert (decided.json()["via"], decided.json()["reason"]) == ("api", "go on")
    assert api.get("approvals?state=pending").json()["results"] == []
    (settled,) = api.get(f"approvals?state=settled&session={session.pk}").json()["results"]
    assert settled == decided.json() == api.get(f"approvals/{approval.pk}").json()
    call = ToolCall.objects.get()
    assert call.state == "pending"
    run_call(call.pk)
    call.refresh_from_db()
    assert call.state in ("completed", "failed")
    assert audited(approval) == ["approval.allow"]


@pytest.mark.django_db
def test_a_refusal_reaches_the_call_with_its_reason(api: Any, alice: Any, session: Any) -> None:
    (approval,) = asked(alice, session)
    assert decide(api, approval, "deny", reason="not today").json()["decision"] == "deny"
    call = ToolCall.objects.get()
    assert (call.state, call.result) == (
        "denied",
        "The user denied this call. Reason: not today",
    )


@pytest.mark.django_db
@pytest.mark.parametrize("first", ["allow", "deny"])
def test_a_settled_approval_says_how_it_stands(
    api: Any, alice: Any, session: Any, first: str
) -> None:
    (approval,) = asked(alice, session)
    decide(api, approval, first)
    for second in ("allow", "deny"):
        late = decide(api, approval, second)
        assert (late.status_code, late.json()["code"]) == (409, "settled")
        assert late.json()["extra"]["decision"] == first
    assert audited(approval) == [f"approval.{first}"]


@pytest.mark.django_db
def test_of_two_cards_only_the_clicked_one_is_settled(api: Any, alice: Any, session: Any) -> None:
    first, second = asked(alice, session, TOUCH, ("shell", {"command": "touch other"}))
    decide(api, second)
    assert [a["id"] for a in api.get("approvals?state=pending").json()["results"]] == [
        str(first.pk)
    ]
    states = dict(ToolCall.objects.values_list("arguments__command", "state"))
    assert states == {"touch made": "waiting", "touch other": "pending"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("seconds", "status", "state"), [(29.9, 200, "pending"), (30.1, 409, "waiting")]
)
def test_silence_of_thirty_seconds_is_a_no(
    alice: Any, valkey: Any, seconds: float, status: int, state: str
) -> None:
    with time_machine.travel(NOON, tick=False) as clockwork:
        api, session = Client(alice), session_create(alice)
        (approval,) = asked(alice, session)
        clockwork.shift(seconds)
        answer = decide(api, approval)
        assert answer.status_code == status
        assert ToolCall.objects.get().state == state
        if status == 409:
            assert answer.json()["code"] == "expired"
            assert answer.json()["extra"]["decision"] == "expired"
            assert api.get("approvals?state=pending").json()["results"] == []
            assert approvals_expire() == 1
            assert ToolCall.objects.get().state == "expired"
            assert ToolCall.objects.get().result.startswith("No answer in time")
            assert decide(api, approval).json()["code"] == "expired"
            assert audited(approval) == ["approval.expired"]


@pytest.mark.django_db
def test_nobody_elses_approval_exists(
    api: Any, stranger: Any, alice: Any, session: Any, admin_user: Any
) -> None:
    (approval,) = asked(alice, session)
    for client in (stranger, Client(admin_user)):
        for body in ({"decision": "allow"}, {"decision": "deny"}, {"decision": "?"}, {}):
            answer = client.post(f"approvals/{approval.pk}/decide", body)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    approval.refresh_from_db()
    assert approval.decision is None
    assert decide(api, approval).status_code == 200


@pytest.mark.django_db
def test_changed_arguments_are_judged_anew_and_run_as_changed(
    api: Any, alice: Any, session: Any
) -> None:
    (approval,) = asked(alice, session)
    decided = decide(api, approval, arguments={"command": "touch better"})
    assert (decided.json()["edited"], decided.json()["command"]) == (True, "touch better")
    call = ToolCall.objects.get()
    assert call.arguments == {"command": "touch better"}
    assert call.digest == Approval.objects.get().digest != approval.digest


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        ({"command": 5, "x": 1}, 400, "invalid_arguments"),
        ({}, 400, "invalid_arguments"),
        ({"command": "sudo rm -rf /"}, 403, "denied"),
    ],
)
def test_bad_changes_leave_the_question_open(
    api: Any, alice: Any, session: Any, arguments: Any, status: int, code: str
) -> None:
    (approval,) = asked(alice, session)
    answer = decide(api, approval, arguments=arguments)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    approval.refresh_from_db()
    assert (approval.decision, ToolCall.objects.get().state) == (None, "waiting")


@pytest.mark.django_db
def test_a_call_that_changed_after_the_yes_does_not_run(api: Any, alice: Any, session: Any) -> None:
    (approval,) = asked(alice, session)
    decide(api, approval)
    call = ToolCall.objects.get()
    call.arguments = {"command": "touch something-else"}
    call.save()
    run_call(call.pk)
    call.refresh_from_db()
    assert call.state == "denied"
    approval.refresh_from_db()
    assert approval.consumed_at is None


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["rule", "disabled", "level"])
def test_a_permission_withdrawn_after_the_yes_bites(
    api: Any, alice: Any, session: Any, how: str
) -> None:
    (approval,) = asked(alice, session)
    assert decide(api, approval).status_code == 200
    if how == "rule":
        rule_set(subject="user:alice@example.com", tool="shell", outcome="deny", actor="test")
    elif how == "disabled":
        user_set_active(User.objects.get(pk=alice.pk), False, actor="test")
    else:
        from tools.models import MatrixCell

        user_set_level(alice, "safe", actor="test")
        MatrixCell.objects.filter(level="safe", category="system").update(outcome="deny")
    call = ToolCall.objects.get()
    run_call(call.pk)
    call.refresh_from_db()
    assert (call.state, call.started_at) == ("denied", None)
    assert call.result.startswith("Refused")


@pytest.mark.django_db
def test_a_yes_can_be_remembered_but_not_for_other_arguments(
    api: Any, alice: Any, session: Any
) -> None:
    (approval,) = asked(alice, session)
    decide(api, approval, remember="session")
    assert Grant.objects.get().session_id == session.pk
    ToolCall.objects.update(state="completed")
    from agents.models import Run

    Run.objects.update(state="completed")
    assert asked(alice, session) == []
    Run.objects.filter(state="waiting").update(state="completed")
    assert len(asked(alice, session, ("shell", {"command": "touch other"}))) == 1


@pytest.mark.django_db
def test_only_a_token_with_the_scope_decides(alice: Any, session: Any, valkey: Any) -> None:
    (approval,) = asked(alice, session)
    for scopes in (["read"], ["chat"], ["account"], ["read", "chat", "account"]):
        assert decide(Client(alice, scopes=scopes), approval).status_code == 403
    assert decide(Client(alice, scopes=["approve"]), approval).status_code == 200


@pytest.fixture
def people(committed: None) -> Any:
    limit_set(subject="everyone", action="message", rate="1000/m", actor="test")
    return User.objects.create_user("alice@example.com", None, level="auto")


@pytest.mark.parametrize("trial", range(TRIALS))
def test_of_fifty_clicks_exactly_one_wins(people: Any, trial: int) -> None:
    (approval,) = asked(people, session_create(people))
    clients = [Client(people) for _ in range(10)]
    words = ["allow", "deny"] if trial % 2 else ["allow"]
    answers = at_once(50, lambda i: decide(clients[i % 10], approval, words[i % len(words)]))
    assert Counter(a.status_code for a in answers) == {200: 1, 409: 49}
    (won,) = [a.json()["decision"] for a in answers if a.status_code == 200]
    told = {a.json()["extra"]["decision"] for a in answers if a.status_code == 409}
    assert told == {won}
    assert audited(approval) == [f"approval.{won}"]
    assert ToolCall.objects.get().state == ("pending" if won == "allow" else "denied")


def test_a_click_against_the_sweeper_has_one_outcome(people: Any) -> None:
    api = Client(people)
    for trial in range(20):
        (approval,) = asked(people, session_create(people))
        moment = clock.in_seconds(0.002 * trial)
        Approval.objects.filter(pk=approval.pk).update(expires_at=moment)
        answer, _ = at_once(
            2, lambda i, a=approval: decide(api, a) if i == 0 else approvals_expire()
        )
        assert answer.status_code in (200, 409)
        time.sleep(max(0, (moment - clock.now()).total_seconds()))
        approvals_expire()
        approval.refresh_from_db()
        state = ToolCall.objects.get(pk=approval.tool_call_id).state
        allowed = answer.status_code == 200
        assert (approval.decision, state) == (
            ("allow", "pending") if allowed else ("expired", "expired")
        )
        assert len(audited(approval)) == 1


def test_cancel_against_a_click_has_one_outcome(people: Any) -> None:
    for _ in range(10):
        (approval,) = asked(people, session_create(people))
        api, other = Client(people), Client(people)
        clicked, cancelled = at_once(
            2,
            lambda i, a=approval, one=api, two=other: (
                decide(one, a) if i == 0 else two.post(f"runs/{a.run_id}/cancel")
            ),
        )
        assert cancelled.status_code == 200
        assert clicked.status_code in (200, 409)
        approval.refresh_from_db()
        expected = "allow" if clicked.status_code == 200 else "cancelled"
        assert approval.decision == expected
        assert ToolCall.objects.get(pk=approval.tool_call_id).state == "cancelled"
