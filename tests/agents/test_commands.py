"""Messages that are commands, and calls that a person makes."""

from __future__ import annotations

from typing import Any

import pytest

from agents.direct import direct_call, parse
from memory.models import Message
from tools.execution import run_call
from tools.models import Approval, ToolCall


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("/help", ("help", "")),
        ("/tool read_file {}", ("tool", "read_file {}")),
        ("!ls -la", ("!", "ls -la")),
        ("!", None),
        ("/workspace/a is a file", None),
        ("hello /help", None),
        ("/Help", None),
    ],
)
def test_what_is_a_command(text: str, parsed: tuple[str, str] | None) -> None:
    assert parse(text) == parsed


def test_direct_calls_are_read_from_the_message() -> None:
    call = direct_call('/tool write_file {"path": "a", "content": "b"}')
    assert call is not None
    assert (call.name, call.arguments, call.error) == (
        "write_file",
        {"path": "a", "content": "b"},
        None,
    )
    broken = direct_call("/tool write_file {path: 1}")
    assert broken is not None
    assert "is not JSON" in str(broken.error)
    assert direct_call("just text") is None


def answer(run: Any) -> str:
    return Message.objects.filter(run_id=run.pk, role="assistant").latest("position").text


def test_commands_are_answered_at_once(send: Any) -> None:
    assert "`/steer TEXT`" in answer(send("/help"))
    assert answer(send("/nonsense")) == "There is no command `/nonsense`. `/help` lists them."
    assert answer(send("/mode ask")) == "Mode: `ask`."
    assert "is not one of ask, plan, code" in answer(send("/mode wild"))
    assert send("/help").state == "completed"


def test_stop_does_not_wait_behind_the_run_it_stops(send: Any, begin: Any) -> None:
    run = send("long work")
    begin(run)
    assert answer(send("/stop")) == "Stopped 1 run(s)."
    run.refresh_from_db()
    assert run.state == "cancelled"


def test_a_direct_call_goes_through_policy_and_approval(send: Any, begin: Any, save: Any) -> None:
    run = send("!touch made")
    work = begin(run)
    save(work, "", *[(c.name, c.arguments) for c in work.direct.calls])
    call = ToolCall.objects.get()
    assert (call.state, call.outcome, call.category) == ("waiting", "confirm", "system")
    assert answer(send("/approve")) == "shell: allow."
    assert Approval.objects.get().decision == "allow"
    run_call(call.pk)
    call.refresh_from_db()
    assert (call.state, call.result) == ("completed", "[exit code 0]")
    assert begin(run).direct.text == "[exit code 0]"


def test_an_approval_that_is_not_named_is_not_guessed(send: Any, begin: Any, save: Any) -> None:
    run = send("work")
    save(begin(run), "", ("shell", {"command": "touch a"}), ("shell", {"command": "touch b"}))
    assert answer(send("/approve")).startswith("Say which: ")
    assert Approval.objects.filter(decision=None).count() == 2
    named = str(Approval.objects.last().pk)[-8:]
    assert answer(send(f"/deny {named}")) == "shell: deny."
    assert Approval.objects.filter(decision=None).count() == 1
