"""Running an assembler over text in pieces of one size."""

from __future__ import annotations

from typing import Any

from agents.calls import CallAssembler
from agents.providers.base import ToolCallPart

KNOWN = ("read_file", "write_file", "web_search")


def assemble(
    text: str, size: int = 1, *, complete: bool = True, limited: bool = False
) -> tuple[str, list[ToolCallPart]]:
    """The visible text and the calls of ``text``, fed ``size`` characters at a time."""
    assembler = CallAssembler(KNOWN)
    shown = [assembler.text(text[at : at + size]) for at in range(0, len(text), size)]
    rest, calls = assembler.finish(complete=complete, limited=limited)
    return "".join(shown) + rest, calls


def asked(calls: list[ToolCallPart]) -> list[tuple[str, dict[str, Any]]]:
    """Names and arguments, after a look that none is an error and all ids differ."""
    assert [call.error for call in calls if call.error] == []
    assert len({call.id for call in calls}) == len(calls)
    return [(call.name, call.arguments) for call in calls]
