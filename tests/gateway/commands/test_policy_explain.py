"""``policy explain``: the policy in one line per call."""

from __future__ import annotations

import io
import itertools
import json
import sys
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.services import user_set_level
from tools.models import MatrixCell, ToolSwitch
from tools.services.rule import rule_set

pytestmark = pytest.mark.django_db
CALLS = {
    "read": ("read_file", {"path": "a.txt"}),
    "write": ("write_file", {"path": "a.txt", "content": "x"}),
    "system": ("shell", {"command": "touch x"}),
}
SHIPPED = {
    "safe": {"read": "confirm", "write": "confirm", "system": "confirm"},
    "auto": {"read": "auto", "write": "auto", "system": "confirm"},
    "full-access": {"read": "auto", "write": "auto", "system": "auto"},
}


def explain(tool: str, arguments: Any = None, *more: str) -> list[dict[str, str]]:
    out = io.StringIO()
    if arguments is not None:
        given = arguments if isinstance(arguments, str) else json.dumps(arguments)
        more = (given, *more)
    call_command("policy", "explain", "alice@example.com", tool, *more, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.parametrize(("level", "category"), itertools.product(SHIPPED, CALLS))
def test_the_shipped_matrix(alice: Any, level: str, category: str) -> None:
    user_set_level(alice, level, actor="test")
    tool, arguments = CALLS[category]
    (found,) = explain(tool, arguments, "--json")
    assert (found["outcome"], found["category"]) == (SHIPPED[level][category], category)
    assert found["why"].startswith(f"Level {level} (own), category {category}: ")


def test_a_command_is_judged_by_what_it_does(alice: Any) -> None:
    (reading,) = explain("shell", {"command": "ls -la"})
    assert (reading["outcome"], reading["category"]) == ("auto", "read")
    (floor,) = explain("shell", {"command": "rm -rf /"})
    assert floor["outcome"] == "deny"


def test_rules_switches_modes_and_doors_are_told(alice: Any) -> None:
    rule_set(subject="everyone", tool="shell", outcome="deny", actor="test", note="Not here.")
    assert explain("shell", {"command": "ls"})[0]["why"] == "Not here."
    ToolSwitch.objects.create(tool="todo", enabled=False, note="Off for now.")
    assert explain("todo")[0] == {"outcome": "deny", "category": "read", "why": "Off for now."}
    call = CALLS["write"]
    (planned,) = explain(*call, "--mode", "plan")
    assert (planned["outcome"], planned["why"][:9]) == ("deny", "Plan mode")
    MatrixCell.objects.filter(level="auto", category="write").update(outcome="confirm")
    assert explain(*call)[0]["outcome"] == "confirm"
    assert explain(*call, "--door", "schedule")[0]["outcome"] == "deny"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("{broken", "not JSON"),
        ("[]", "must be a JSON object"),
        ({"command": "ls", "nonsense": 1}, "nonsense"),
        ({}, "command"),
    ],
)
def test_what_cannot_be_called_is_refused_with_the_reason(
    alice: Any, arguments: Any, word: str
) -> None:
    (found,) = explain("shell", arguments)
    assert (found["outcome"], found["category"]) == ("deny", "system")
    assert word in found["why"]


def test_an_unknown_tool_is_refused(alice: Any) -> None:
    assert explain("teleport")[0] == {
        "outcome": "deny",
        "category": "system",
        "why": "There is no tool named 'teleport'.",
    }


def test_the_lines_of_stdin_are_answered_in_order(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.dumps({"command": c}).encode() for c in ("ls", "touch x", "rm -rf /")]
    lines += [b"\xff\xfe", b"", b'{"command": "\\ud800"}']
    stdin = io.TextIOWrapper(io.BytesIO(b"\n".join(lines)))
    monkeypatch.setattr(sys, "stdin", stdin)
    found = explain("shell", "-", "--json")
    assert [line["outcome"] for line in found] == ["auto", "confirm", "deny", "deny", "deny"]


def test_an_unknown_user_is_an_error(alice: Any) -> None:
    with pytest.raises(CommandError, match="There is no user"):
        call_command("policy", "explain", "bob@example.com", "shell", "{}")


def test_on_a_terminal_it_speaks_in_words(alice: Any) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    call_command("policy", "explain", "alice@example.com", "read_file", stdout=out, no_color=True)
    assert out.getvalue() == "auto (read): Level auto (own), category read: auto.\n"
