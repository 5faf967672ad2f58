"""A call from the model's words to its saved result: what a tool does, and what is done with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from accounts.models import AuditEntry
from accounts.services import audit_verify
from memory.models import Attachment, SessionEvent
from memory.services.attachment import attachment_path
from tools import ToolContext, tool
from tools.declare import Classification
from tools.execution import RESULT_CAP, run_call
from tools.models import Approval, Grant, ToolCall, ToolRule
from tools.registry import TOOLS
from tools.services import approval_decide, approvals_expire
from tools.services.waking import held_up
from tools.workspace import workspace_for

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123"


@tool(name="probe", description="For tests.", category="read")
def probe(ctx: ToolContext, what: str = "ok") -> Any:
    """Do what is asked.

    Args:
        what: Which behaviour.
    """
    if what == "raise":
        raise RuntimeError("boom")
    if what == "hang":
        time.sleep(30)
    ctx.emit(f"working with {SECRET}\n")
    answers = {
        "fail": {"success": False, "result": "no luck", "metadata": {}},
        "json": {"rows": [1, 2]},
        "long": "x" * 1_000_000,
        "secret": f"the key is {SECRET}",
        "surrogate": "bad \ud800 text",
        "none": None,
    }
    return answers.get(what, f"did {what}")


@tool(name="probe_async", description="For tests.", category="read")
async def probe_async(what: str) -> str:
    """Answer from a coroutine.

    Args:
        what: Anything.
    """
    return f"async {what}"


@tool(name="probe_write", description="For tests.", category="write", paths=("path",), parameters={
    "path": {"type": "string", "description": "Where.", "required": True},
})  # fmt: skip
def probe_write(path: str) -> str:
    return f"wrote {path}"


def _judge(arguments: dict[str, Any], workspace: Path) -> Classification:
    found = (workspace / "danger").exists()
    return Classification("system" if found else "read", "By what is there.", parts=())


@tool(name="probe_judged", description="For tests.", category="read", classify=_judge)
def probe_judged() -> str:
    return "ran"


PROBES = (probe, probe_async, probe_write, probe_judged)


@pytest.fixture(autouse=True, scope="module")
def probes() -> Iterator[None]:
    for each in PROBES:
        TOOLS.register(each)
    yield
    for each in PROBES:
        del TOOLS.all()[each.name]


@pytest.fixture
def call(send: Any, begin: Any, save: Any) -> Callable[..., ToolCall]:
    """Ask for one call, run it if it may, and return it."""

    def call(name: str, arguments: dict[str, Any]) -> ToolCall:
        save(begin(send("go")), "", (name, arguments))
        made = ToolCall.objects.latest("created_at")
        run_call(made.pk)
        made.refresh_from_db()
        return made

    return call


@pytest.mark.parametrize(
    ("what", "state", "result"),
    [
        ("ok", "completed", "did ok"),
        ("raise", "failed", "probe failed: RuntimeError: boom"),
        ("fail", "failed", "no luck"),
        ("json", "completed", '{\n  "rows": [\n    1,\n    2\n  ]\n}'),
        ("secret", "completed", "the key is [redacted]"),
        ("surrogate", "completed", "bad \ufffd text"),
        ("none", "completed", "null"),
    ],
)
def test_what_a_tool_gives_is_an_observation(call: Any, what: str, state: str, result: str) -> None:
    made = call("probe", {"what": what})
    assert (made.state, made.result) == (state, result)


def test_a_coroutine_is_a_tool_too(call: Any) -> None:
    assert call("probe_async", {"what": "x"}).result == "async x"


def test_a_tool_that_hangs_is_stopped(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    object.__setattr__(probe, "timeout", 0.2)
    try:
        made = call("probe", {"what": "hang"})
    finally:
        object.__setattr__(probe, "timeout", 60)
    assert (made.state, made.result) == ("failed", "probe was stopped after 0.2 s.")


def test_a_large_result_is_kept_whole_and_shown_in_part(call: Any, alice: Any) -> None:
    made = call("probe", {"what": "long"})
    assert len(made.result) < RESULT_CAP
    assert f"the whole is kept as file {made.attachment_id}" in made.result
    kept = Attachment.objects.for_user(alice).fetch(made.attachment_id)
    assert attachment_path(kept.pk).read_text() == "x" * 1_000_000


def test_live_output_holds_no_secret(call: Any, session: Any) -> None:
    from hermes_site.lib.redis import client, stream_key

    call("probe", {"what": "ok"})
    tail = client().xrange(stream_key(session.pk))
    output = [fields[b"e"] for _, fields in tail if b'"tool.output"' in fields[b"e"]]
    assert len(output) == 1
    assert SECRET.encode() not in output[0]
    assert b"working with [redacted]" in output[0]


def test_the_thirty_first_call_of_a_minute_is_refused_with_its_reset(
    send: Any, begin: Any, save: Any
) -> None:
    save(begin(send("go")), "", *[("probe", {"what": str(n)}) for n in range(31)])
    for made in ToolCall.objects.order_by("index"):
        run_call(made.pk)
    states = list(ToolCall.objects.order_by("index").values_list("state", flat=True))
    assert states == ["completed"] * 30 + ["denied"]
    assert "30 tool calls per minute" in ToolCall.objects.get(index=30).result


@pytest.mark.parametrize(
    ("calls", "free"),
    [
        ([("probe", {}), ("probe", {}), ("probe", {})], [0, 1, 2]),
        ([("probe_write", {"path": "a"}), ("probe_write", {"path": "b"})], [0, 1]),
        ([("probe_write", {"path": "a"}), ("probe_write", {"path": "a/b"})], [0]),
        ([("probe_write", {"path": "a"}), ("probe_write", {"path": "../x"})], [0]),
        ([("probe", {}), ("probe_write", {"path": "a"}), ("probe", {})], [0]),
    ],
)
def test_which_calls_of_an_answer_run_side_by_side(
    send: Any, begin: Any, save: Any, calls: list[Any], free: list[int]
) -> None:
    save(begin(send("go")), "", *calls)
    made = list(ToolCall.objects.order_by("index"))
    assert [c.index for c in made if not held_up(c, made)] == free


def test_a_held_up_call_runs_when_the_one_before_has_ended(
    send: Any, begin: Any, save: Any, wakes: Any, django_capture_on_commit_callbacks: Any
) -> None:
    save(begin(send("go")), "", *[("probe_write", {"path": "a"})] * 2)
    first, second = ToolCall.objects.order_by("index")
    run_call(second.pk)
    second.refresh_from_db()
    assert second.state == "pending"
    wakes.clear()
    with django_capture_on_commit_callbacks(execute=True):
        run_call(first.pk)
    assert ("tools.execute", second.pk) in wakes


class TestApprovals:
    @pytest.fixture
    def asked(self, send: Any, begin: Any, save: Any) -> Approval:
        save(begin(send("go")), "", ("shell", {"command": "touch made"}))
        return Approval.objects.get()

    def ended(self, approval: Approval) -> ToolCall:
        run_call(approval.tool_call_id)
        return ToolCall.objects.get(pk=approval.tool_call_id)

    def test_nothing_runs_before_the_yes(self, asked: Approval) -> None:
        assert self.ended(asked).state == "waiting"

    def test_a_yes_is_consumed_once(self, asked: Approval, alice: Any) -> None:
        approval_decide(alice, asked.pk, decision="allow", via="web")
        assert self.ended(asked).state == "completed"
        asked.refresh_from_db()
        assert asked.consumed_at is not None
        ToolCall.objects.update(state="pending", attempts=0)
        assert self.ended(asked).state == "denied"

    def test_changed_arguments_void_a_yes(self, asked: Approval, alice: Any) -> None:
        approval_decide(alice, asked.pk, decision="allow", via="web")
        ToolCall.objects.update(arguments={"command": "touch other"})
        assert self.ended(asked).state == "denied"

    def test_edited_arguments_run_and_the_model_is_told(self, asked: Approval, alice: Any) -> None:
        approval_decide(
            alice, asked.pk, decision="allow", via="web", arguments={"command": "echo edited"}
        )
        call = self.ended(asked)
        assert call.arguments == {"command": "echo edited"}
        assert call.result.startswith(
            '(The user changed the arguments to {"command":"echo edited"})'
        )
        assert "edited" in call.result.splitlines()[1]

    def test_a_reason_reaches_the_model(self, asked: Approval, alice: Any) -> None:
        approval_decide(alice, asked.pk, decision="deny", via="web", reason="not today")
        call = ToolCall.objects.get()
        assert (call.state, call.result) == (
            "denied",
            "The user denied this call. Reason: not today",
        )

    @pytest.mark.parametrize(("remember", "again"), [("once", "waiting"), ("session", "pending")])
    def test_remembering_holds_for_the_exact_call(
        self,
        asked: Approval,
        alice: Any,
        send: Any,
        begin: Any,
        save: Any,
        remember: str,
        again: str,
    ) -> None:
        approval_decide(alice, asked.pk, decision="allow", via="web", remember=remember)
        self.ended(asked)
        save(begin(asked_run(asked)), "done")
        same, other = {"command": "touch made"}, {"command": "touch made2"}
        save(begin(send("more")), "", ("shell", same), ("shell", other))
        states = ToolCall.objects.order_by("-created_at", "index")
        assert {c.arguments["command"]: c.state for c in states[:2]} == {
            "touch made": again,
            "touch made2": "waiting",
        }
        assert Grant.objects.count() == (remember == "session")

    def test_a_permission_withdrawn_after_the_yes_bites(self, asked: Approval, alice: Any) -> None:
        approval_decide(alice, asked.pk, decision="allow", via="web")
        ToolRule.objects.create(scope="user", user=alice, tool="shell", outcome="deny")
        assert self.ended(asked).state == "denied"

    def test_a_level_lowered_before_the_start_asks(
        self, send: Any, begin: Any, save: Any, alice: Any
    ) -> None:
        save(begin(send("go")), "", ("probe", {}))
        alice.level = "safe"
        alice.save()
        call = ToolCall.objects.get()
        run_call(call.pk)
        call.refresh_from_db()
        assert (call.state, Approval.objects.get().decision) == ("waiting", None)

    def test_what_a_call_touches_is_judged_anew_at_its_start(
        self, send: Any, begin: Any, save: Any, session: Any
    ) -> None:
        workspace = workspace_for(settings.HERMES_HOME, session.user_id)
        save(begin(send("go")), "", ("probe_judged", {}))
        call = ToolCall.objects.get()
        assert (call.category, call.outcome) == ("read", "auto")
        (workspace / "danger").touch()
        run_call(call.pk)
        call.refresh_from_db()
        assert (call.category, call.state) == ("system", "waiting")
        asked = SessionEvent.objects.get(session=session, type="permission_request")
        assert asked.data["category"] == "system"

    def test_silence_means_no(self, asked: Approval, session: Any) -> None:
        from datetime import timedelta

        from hermes_site.lib import clock

        Approval.objects.update(expires_at=clock.now() - timedelta(seconds=1))
        assert approvals_expire() == 1
        call = ToolCall.objects.get()
        assert call.state == "expired"
        assert "nobody confirmed, so the call was not run" in call.result
        types = SessionEvent.objects.filter(session=session).values_list("type", flat=True)
        assert "permission_resolved" in types
        assert asked_run(asked).state == "queued"

    def test_every_step_is_in_the_trail(self, asked: Approval, alice: Any) -> None:
        approval_decide(alice, asked.pk, decision="allow", via="web")
        call = self.ended(asked)
        actions = AuditEntry.objects.order_by("id").values_list("action", "actor", "target", "via")
        assert ("approval.allow", alice.email, str(asked.pk), "web") in actions
        assert ("tool.completed", alice.email, str(call.pk), "api") in actions
        assert audit_verify() is None


def asked_run(approval: Approval) -> Any:
    from agents.models import Run

    return Run.objects.get(pk=approval.run_id)
