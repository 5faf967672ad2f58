"""Text that may be a call without tags: a fence of JSON, or an answer that is bare JSON.

It is one only if it is the whole rest of the answer and calls offered tools; otherwise it is
the text that the user asked for, and is let go as soon as that shows.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from agents.calls.forms import ARGUMENT_KEYS, NAME_KEYS, whole_answer
from agents.calls.spans import Span
from agents.providers.base import ToolCallPart

_KEYS = (*NAME_KEYS, *ARGUMENT_KEYS, "function", "id", "type")
_START = re.compile(r"\s{0,64}(?:\[\s{0,64})?(?:\{\s{0,64})?")
_COLON = re.compile(r'\s{0,64}(?::\s{0,64})?"?')


class Held:
    """``opening`` is the fence's marker, empty for bare JSON."""

    def __init__(self, opening: str, known: Collection[str]) -> None:
        self.opening = opening
        self._known = known
        self._parts: list[str] = []
        self._span = Span("fence" if opening else "bare")
        self._decided = False

    @property
    def text(self) -> str:
        """Everything behind the opening."""
        return "".join(self._parts)

    def feed(self, text: str) -> bool:
        """Take ``text`` in; False when it can be no call any more."""
        self._parts.append(text)
        if self._span.closed:
            return not text.strip()
        if not self._decided:
            text = self.text
            verdict = _plausible(text, self._known)
            if verdict is not True:
                return verdict is None
            self._decided = True
        behind = self._span.feed(text)
        return not self._span.too_large and not (behind or "").strip()

    def calls(self) -> list[ToolCallPart]:
        """The calls at the end of the answer; none if it is text."""
        return whole_answer(self._span.body, self._known) if self._decided else []


def _plausible(text: str, known: Collection[str]) -> bool | None:
    """Whether ``text`` begins as a call does; None while it is too short to tell."""
    start = _START.match(text)
    assert start is not None  # The pattern matches the empty text.
    rest = text[start.end() :]
    if not rest:
        return None if len(start.group()) < 64 else False
    if "{" not in start.group() or rest[0] != '"':
        return False
    key, closed, value = rest[1:].partition('"')
    if not closed:
        return None if any(name.startswith(key) for name in _KEYS) else False
    if key not in _KEYS:
        return False
    if key not in NAME_KEYS:
        return True
    colon = _COLON.match(value)
    assert colon is not None
    name, closed, _ = value[colon.end() :].partition('"')
    if not name and not closed:
        return None if len(colon.group()) < 64 else False
    if '"' not in colon.group():
        return False
    return name in known if closed else _begins(name, known)


def _begins(name: str, known: Collection[str]) -> bool | None:
    return None if any(tool.startswith(name) for tool in known) else False
