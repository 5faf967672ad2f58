"""A run is data: leases, fences, order, recovery (architecture, section 2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.services.limit import RateLimited
from agents.models import Run
from agents.services import message_send, run_cancel, run_hand_back, run_steer, runs_renew, sweep
from hermes_site.lib import clock
from hermes_site.lib.errors import Conflict, Interrupted, UserFacing
from memory.models import Message, SessionEvent
from tools.execution import run_call
from tools.models import Approval, ToolCall

pytestmark = pytest.mark.rows
LOOK = ("current_time", {})


def expire(run: Run) -> None:
    """As if the worker had died long ago."""
    Run.objects.filter(pk=run.pk).update(lease_until=clock.now() - timedelta(seconds=1))


def types(session: Any) -> list[str]:
    return list(SessionEvent.objects.filter(session=session).values_list("type", flat=True))


def test_a_message_and_its_run_are_rows_before_anything_is_woken(
    send: Any, session: Any, wakes: Any
) -> None:
    run = send("hello")
    assert (run.state, run.message.text) == ("queued", "hello")
    assert wakes == [("agents.turn", run.pk)]
    assert types(session) == ["message.completed", "run.queued"]
    assert SessionEvent.objects.filter(session=session, seq=None).count() == 0


def test_one_worker_gets_the_lease(send: Any, begin: Any) -> None:
    run = send()
    assert begin(run).lease.fence == 1
    assert begin(run, "other") is None


def test_a_turn_without_calls_ends_the_run(send: Any, begin: Any, save: Any, session: Any) -> None:
    run = send()
    save(begin(run), "All good.")
    run.refresh_from_db()
    assert (run.state, run.lease_until) == ("completed", None)
    answer = Message.objects.get(run_id=run.pk, role="assistant")
    assert (answer.text, answer.parent_id, answer.state) == (
        "All good.",
        run.message_id,
        "completed",
    )
    assert types(session)[-2:] == ["usage", "run.completed"]


def test_a_stale_worker_cannot_write(send: Any, begin: Any, save: Any) -> None:
    run = send()
    stale = begin(run, "stale")
    expire(run)
    fresh = begin(run, "fresh")
    assert fresh.lease.fence == 2
    with pytest.raises(Interrupted):
        save(stale, "late")
    save(fresh, "in time")
    assert [m.text for m in Message.objects.filter(role="assistant")] == ["in time"]


def test_heartbeat_keeps_leases_and_names_the_lost(send: Any, begin: Any) -> None:
    run = send()
    work = begin(run)
    expire(run)
    assert runs_renew({run.pk: work.lease.fence}) == set()
    assert begin(run, "other") is None
    assert runs_renew({run.pk: work.lease.fence + 1}) == {run.pk}


def test_runs_of_a_session_go_one_after_the_other(send: Any, begin: Any, save: Any) -> None:
    first, second, third = send("1"), send("2"), send("3")
    assert begin(second) is None
    assert begin(third) is None
    save(begin(first), "one")
    assert begin(third) is None
    save(begin(second), "two")
    save(begin(third), "three")
    placed = Message.objects.order_by("position").values_list("text", flat=True)
    assert list(placed) == ["1", "one", "2", "two", "3", "three"]


def test_the_end_of_a_run_wakes_the_next(send: Any, begin: Any, save: Any, wakes: Any) -> None:
    first, second = send("1"), send("2")
    wakes.clear()
    save(begin(first), "one")
    assert wakes == [("agents.turn", second.pk)]


def test_the_same_client_id_is_one_message(send: Any) -> None:
    assert send("hello", client_id="x").pk == send("hello", client_id="x").pk
    assert Message.objects.count() == 1


def test_calls_run_and_the_run_goes_on(send: Any, begin: Any, save: Any, wakes: Any) -> None:
    run = send()
    save(begin(run), "", LOOK, LOOK)
    run.refresh_from_db()
    assert (run.state, run.step) == ("waiting", 1)
    calls = list(ToolCall.objects.order_by("index"))
    assert [(c.state, c.outcome) for c in calls] == [("pending", "auto")] * 2
    run_call(calls[0].pk)
    run.refresh_from_db()
    assert run.state == "waiting"
    run_call(calls[1].pk)
    run.refresh_from_db()
    assert run.state == "queued"
    history = begin(run).request.messages
    results = [call.result for call in ToolCall.objects.order_by("index")]
    assert [result.content for result in history[-1].results] == results


def test_calls_that_cannot_run_go_back_to_the_model(send: Any, begin: Any, save: Any) -> None:
    run = send()
    save(begin(run), "", ("no_such_tool", {}), ("read_file", {"path": 5, "x": 1}))
    run.refresh_from_db()
    assert run.state == "queued"
    results = {r.name: r.content for r in begin(run).request.messages[-1].results}
    assert results["no_such_tool"] == "There is no tool named 'no_such_tool'."
    assert "Additional properties are not allowed ('x' was unexpected)" in results["read_file"]


@pytest.mark.parametrize(("category", "state"), [("read", "pending"), ("write", "unknown")])
def test_a_call_whose_worker_died(
    send: Any, begin: Any, save: Any, category: str, state: str, wakes: Any
) -> None:
    run = send()
    save(begin(run), "", LOOK)
    past = clock.now() - timedelta(seconds=1)
    ToolCall.objects.update(state="running", category=category, lease_until=past, attempts=1)
    sweep()
    call = ToolCall.objects.get()
    run.refresh_from_db()
    assert call.state == state
    assert run.state == ("waiting" if state == "pending" else "queued")
    if state == "unknown":
        assert "NOT repeated" in begin(run).request.messages[-1].results[0].content


def test_the_sweeper_finds_a_dead_workers_run(send: Any, begin: Any, save: Any, wakes: Any) -> None:
    run = send()
    stale = begin(run)
    expire(run)
    wakes.clear()
    assert sweep()["dead"] == 1
    assert wakes == [("agents.turn", run.pk)]
    save(begin(run), "again")
    with pytest.raises(Interrupted):
        save(stale, "late")


def test_a_run_that_kills_its_workers_is_given_up(send: Any, begin: Any, session: Any) -> None:
    run = send()
    for _ in range(5):
        assert begin(run) is not None
        expire(run)
        sweep()
    run.refresh_from_db()
    assert (run.state, run.error_code) == ("failed", "worker_lost")
    assert types(session)[-1] == "run.failed"


def test_a_lost_wake_up_is_sent_again(send: Any, wakes: Any) -> None:
    run = send()
    Run.objects.update(woken_at=clock.now() - timedelta(seconds=60))
    wakes.clear()
    assert sweep()["late"] == 1
    assert wakes == [("agents.turn", run.pk)]
    assert sweep()["late"] == 0


def test_a_waiting_run_without_open_calls_is_resumed(send: Any, begin: Any, save: Any) -> None:
    run = send()
    save(begin(run), "", LOOK)
    ToolCall.objects.update(state="completed")
    assert sweep()["resumed"] == 1
    run.refresh_from_db()
    assert run.state == "queued"


def test_an_unpublished_event_is_published_by_the_sweeper(send: Any, session: Any) -> None:
    send()
    SessionEvent.objects.update(seq=None, at=clock.now() - timedelta(seconds=60))
    assert sweep()["events"] == 2
    assert SessionEvent.objects.filter(seq=None).count() == 0


def test_handing_back_costs_no_attempt(send: Any, begin: Any, save: Any, wakes: Any) -> None:
    run = send()
    work = begin(run)
    run_hand_back(work.lease)
    run.refresh_from_db()
    assert (run.state, run.attempts) == ("queued", 0)
    with pytest.raises(Interrupted):
        save(work, "late")


def test_cancel_ends_run_calls_and_questions(
    send: Any, begin: Any, save: Any, alice: Any, session: Any
) -> None:
    run = send()
    save(begin(run), "", LOOK, ("shell", {"command": "touch x"}))
    following = send("next")
    assert run_cancel(run, by=alice, via="web") is True
    assert run_cancel(run, by=alice, via="web") is False
    assert set(ToolCall.objects.values_list("state", flat=True)) == {"cancelled"}
    assert Approval.objects.get().decision == "cancelled"
    assert types(session)[-1] == "run.cancelled"
    history = begin(following).request.messages
    assert [r.content for r in history[1].results] == ["Cancelled by the user."] * 2


def test_cancel_keeps_what_was_streamed(send: Any, begin: Any, alice: Any, save: Any) -> None:
    from hermes_site.lib.redis import client, partial_key

    run = send()
    work = begin(run)
    client().set(partial_key(run.session_id, work.lease.run.answer_id), "Half an ans", ex=60)
    run_cancel(run, by=alice, via="web")
    kept = Message.objects.get(role="assistant")
    assert (kept.text, kept.state) == ("Half an ans", "interrupted")
    with pytest.raises(Interrupted):
        save(work, "Half an answer")


def test_steering_is_seen_by_the_next_turn(send: Any, begin: Any, save: Any, alice: Any) -> None:
    run = send("do it")
    save(begin(run), "", LOOK)
    run_steer(alice, run, "but in French", via="web")
    run_call(ToolCall.objects.get().pk)
    messages = begin(run).request.messages
    assert [(m.role, m.content) for m in messages] == [
        ("user", "do it"),
        ("assistant", ""),
        ("user", "but in French"),
    ]
    save_error = pytest.raises(Conflict)
    run_cancel(run, by=alice, via="web")
    with save_error:
        run_steer(alice, run, "too late", via="web")


@pytest.mark.parametrize("text", ["", "   ", "\x00", 5, None])
def test_an_empty_message_is_refused(alice: Any, session: Any, text: Any) -> None:
    with pytest.raises(UserFacing):
        message_send(alice, session, text=text, surface="api")
    assert Message.objects.count() == 0


def test_a_long_message_is_refused_with_the_limit(alice: Any, session: Any) -> None:
    with pytest.raises(UserFacing, match="at most 100,000") as refused:
        message_send(alice, session, text="x" * 100_001, surface="api")
    assert refused.value.status == 413


def test_the_shipped_rate_holds_and_costs_nothing_when_refused(send: Any) -> None:
    for number in range(10):
        send(str(number))
    with pytest.raises(RateLimited) as refused:
        send("one too many")
    assert refused.value.extra["limit"] == 10
    assert Message.objects.count() == 10


def test_without_redis_the_rate_is_counted_by_rows(send: Any, settings: Any) -> None:
    from hermes_site.lib import redis

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    redis._client.cache_clear()
    for number in range(10):
        send(str(number))
    with pytest.raises(RateLimited):
        send("one too many")
    assert SessionEvent.objects.filter(seq=None).count() == 20


def test_a_disabled_users_run_does_not_start(send: Any, begin: Any, alice: Any) -> None:
    run = send()
    alice.is_active = False
    alice.save()
    assert begin(run) is None
    run.refresh_from_db()
    assert run.state == "cancelled"


def test_without_a_model_the_run_says_so(
    alice: Any, session: Any, begin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = message_send(alice, session, text="hi", surface="api")[1]
    work = begin(run)
    assert work.error.code == "no_model"
    assert "OPENAI_API_KEY" in work.error.message


def test_a_spent_token_budget_ends_the_run_with_its_reset_time(
    send: Any, begin: Any, alice: Any
) -> None:
    from accounts.services import limit_set, limit_spend

    limit_set(subject="everyone", action="tokens", rate="100/h", actor="test")
    limit_spend(alice, "tokens", 100)
    work = begin(send())
    assert (work.error.code, work.error.status) == ("rate_limited", 429)
    assert work.error.extra["reset_at"] in work.error.message


def test_files_of_a_message_lie_in_the_workspace(
    send: Any, begin: Any, alice: Any, carol: Any, session: Any, settings: Any
) -> None:
    import io

    from hermes_site.lib.errors import NotFound
    from memory.services import attachment_create
    from tools.workspace import Workspace, workspace_for

    kept = attachment_create(alice, name="../../päper.txt", source=io.BytesIO(b"content"))
    work = begin(send_with(send, kept))
    text = work.request.messages[0].content
    path = text.split("- ")[-1].split(" (7 bytes)")[0]
    root = workspace_for(settings.HERMES_HOME, alice.pk)
    assert path.startswith("uploads/")
    assert ".." not in path.split("/")
    assert path.count("/") == 2
    assert Workspace(root).read(path) == b"content"
    theirs = attachment_create(carol, name="x", source=io.BytesIO(b"secret"))
    with pytest.raises(NotFound):
        send_with(send, theirs)


def send_with(send: Any, attachment: Any) -> Any:
    return send("read it", options={"files": [str(attachment.pk)]})
