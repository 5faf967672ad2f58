"""INTERIM (by the lead, so that others can run the stack): helper-3's package replaces this file."""

from __future__ import annotations

import json

from agents.providers.base import ToolCallDelta, ToolCallPart


class CallAssembler:
    def __init__(self, names: set[str]) -> None:
        self.calls: dict[str, list[str]] = {}

    def text(self, text: str) -> str:
        return text

    def delta(self, part: ToolCallDelta) -> None:
        call = self.calls.setdefault(part.key, ["", "", ""])
        call[0] += part.id
        call[1] += part.name
        call[2] += part.arguments

    def finish(self, complete: bool) -> tuple[str, list[ToolCallPart]]:
        if not complete:
            return "", []
        return "", [ToolCallPart(c[0], c[1], json.loads(c[2] or "{}")) for c in self.calls.values()]
