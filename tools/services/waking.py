"""Which calls of an answer may start, and waking them."""

from __future__ import annotations

from uuid import UUID

from hermes_site.lib.wake import wake_on_commit
from tools.choices import CallState, Category
from tools.models import ToolCall
from tools.registry import TOOLS

EXECUTE = "tools.execute"


def calls_wake(message_id: UUID) -> None:
    """Wake the pending calls of a message that nothing before them holds up."""
    siblings = list(ToolCall.objects.filter(message_id=message_id).order_by("index"))
    for call in siblings:
        if call.state == CallState.PENDING and not held_up(call, siblings):
            wake_on_commit(EXECUTE, call.pk)


def held_up(call: ToolCall, siblings: list[ToolCall]) -> bool:
    """Whether a conflicting call of the same answer is running, or stands before this one and
    could start. Calls that wait for a person hold up nobody."""
    return any(
        (
            other.state == CallState.RUNNING
            or (other.state == CallState.PENDING and other.index < call.index)
        )
        and _conflict(call, other)
        for other in siblings
        if other.pk != call.pk
    )


def _conflict(one: ToolCall, two: ToolCall) -> bool:
    """Reading calls never conflict; others only run together on disjoint paths."""
    if one.category == Category.READ and two.category == Category.READ:
        return False
    mine, theirs = _paths(one), _paths(two)
    return not mine or not theirs or any(_overlap(a, b) for a in mine for b in theirs)


def _paths(call: ToolCall) -> list[str]:
    """The workspace paths that a call touches; empty when they are not known."""
    tool = TOOLS.get(call.name)
    names = tool.paths if tool else ()
    return [_normal(str(call.arguments[name])) for name in names if name in call.arguments]


def _normal(path: str) -> str:
    parts = [part for part in path.removeprefix("/workspace").split("/") if part not in ("", ".")]
    return "/".join(parts) + "/"


def _overlap(one: str, two: str) -> bool:
    return ".." in one + two or one.startswith(two) or two.startswith(one)
