"""Finding where a call's markup ends while the text still comes in, in pieces of any size.

An end marker inside a JSON string or inside a parameter's value is content, not an end.
"""

from __future__ import annotations

import re

# Beyond this a body is not kept; far above the largest arguments allowed.
MAX_BODY = 2 * 1024 * 1024
_ENDS = {
    "tool_call": ("</tool_call>",),
    "function": ("</function>", "</tool_call>"),
    "liquid": ("<|tool_call_end|>",),
    "fence": ("```",),
    "bare": (),
}
# Another call that begins where this one should have ended.
_NEXT = {
    "tool_call": ("<tool_call>", "<function="),
    "function": ("<function=", "<tool_call>"),
    "liquid": ("<|tool_call_start|>",),
    "fence": (),
    "bare": (),
}
_OPEN, _CLOSE = "<parameter=", "</parameter>"


def _one_of(*marks: str) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(mark) for mark in marks))


_OUTSIDE = {kind: _one_of('"', *_ENDS[kind], *_NEXT[kind]) for kind in _ENDS}
_IN_STRING = {
    kind: re.compile("|".join([r"\\.", '"', *map(re.escape, _ENDS[kind])]), re.DOTALL)
    for kind in _ENDS
}
_OUTSIDE_VALUE = _one_of(_OPEN, *_ENDS["function"], *_NEXT["function"])
_IN_VALUE = _one_of(_CLOSE)
_MARKS = tuple({m for ms in [*_ENDS.values(), *_NEXT.values()] for m in ms} | {_OPEN, _CLOSE})
_LONGEST = 24
_HALF = re.compile(r"(?:<[^<`]*|`{1,3}[a-z_]*)\Z")


def unfinished(text: str, marks: tuple[str, ...]) -> int:
    """How many characters at the end of ``text`` may be the beginning of one of ``marks``."""
    match = _HALF.search(text, max(0, len(text) - _LONGEST))
    if match is None or not any(mark.startswith(match.group()) for mark in marks):
        return 0
    return len(match.group())


class Span:
    """The body of one form, from behind its opening marker.

    ``kind`` is ``tool_call``, ``function``, ``liquid``, ``fence`` or ``bare`` (no end marker).
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.size = 0
        self.closed = False
        self._parts: list[str] = []
        self._carry = ""
        self._inside = False
        # A function's body is told by what comes behind its name.
        self._tags = False
        self._decided = kind != "function"
        self._first_end: tuple[int, int] | None = None

    @property
    def body(self) -> str:
        return "".join(self._parts) + self._carry

    @property
    def too_large(self) -> bool:
        return self.size > MAX_BODY

    def feed(self, text: str) -> str | None:
        """Take ``text`` in; what comes behind the end once that is found, else None."""
        text, self._carry = self._carry + text, ""
        if not self._decided and not self._decide(text):
            return None
        position = 0
        while match := self._pattern.search(text, position):
            mark, position = match.group(), match.end()
            if self._toggle(mark):
                continue
            if self._inside:
                if self._first_end is None and not mark.startswith("\\"):
                    self._first_end = (self.size + match.start(), len(mark))
                continue
            rest = self._end(text, match.start(), mark)
            if rest is not None:
                return rest
        self._keep(text, position)
        return None

    def give_up(self) -> tuple[str, str] | None:
        """For a body without end: where it ends if a quote in it was no quote, as body and what
        comes behind."""
        if self._first_end is None or self.too_large:
            return None
        (start, length), body = self._first_end, self.body
        return body[:start], body[start + length :]

    @property
    def _pattern(self) -> re.Pattern[str]:
        if self._tags:
            return _IN_VALUE if self._inside else _OUTSIDE_VALUE
        return (_IN_STRING if self._inside else _OUTSIDE)[self.kind]

    def _decide(self, text: str) -> bool:
        """JSON or parameters: known from the first character behind ``NAME>``."""
        _, mark, content = text.partition(">")
        content = content.lstrip()
        if (not mark or not content) and len(text) < 4096:
            self._carry = text
            return False
        self._decided, self._tags = True, content[:1] not in ("{", "[")
        return True

    def _toggle(self, mark: str) -> bool:
        """Whether ``mark`` is a border of a string or of a parameter's value."""
        border = mark in (_OPEN, _CLOSE) if self._tags else mark == '"'
        self._inside ^= border
        return border

    def _end(self, text: str, start: int, mark: str) -> str | None:
        if mark in _ENDS[self.kind]:
            self._take(text[:start])
            self.closed = True
            return text[start + len(mark) :]
        # Around <function=…> the wrapper has no body of its own.
        if mark == "<function=" and self.kind == "tool_call" and not self._blank(text[:start]):
            return None
        self._take(text[:start])
        self.closed = True
        return text[start:]

    def _blank(self, text: str) -> bool:
        return self.size < 64 and not ("".join(self._parts) + text).strip()

    def _keep(self, text: str, position: int) -> None:
        """Store ``text`` but for an end that may be half a marker or half an escape."""
        count = unfinished(text[position:], _MARKS)
        if self._inside and not self._tags and text[position:].endswith("\\"):
            count = 1
        cut = len(text) - count
        self._take(text[:cut])
        self._carry = text[cut:]

    def _take(self, text: str) -> None:
        self.size += len(text)
        if text and not self.too_large:
            self._parts.append(text)
