"""The stream of an answer's text, parted into what the user sees and the markup of calls.

Text is shown as soon as it can belong to no marker, and no marker is ever shown. Explicit tags
are always calls; calls without tags are told from text by ``held``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace

from agents.calls.forms import FORMS, broken, is_call
from agents.calls.held import Held
from agents.calls.spans import Span, unfinished
from agents.providers.base import ToolCallPart

_OPENERS = {"<tool_call>": "tool_call", "<function=": "function", "<|tool_call_start|>": "liquid"}
_FENCES = ("```json", "```tool_call")
# What is left over of a form that a model closed twice.
_STRAY = ("</tool_call>", "</function>", "</parameter>", "<|tool_call_end|>")
_MARKS = (*_OPENERS, *_FENCES, *_STRAY)
_MARKER = re.compile("|".join(map(re.escape, _MARKS)))
_CUT = "The answer reached its length limit inside this call. Send it again, shorter."
_UNSURE = "A value holds a closing tag, so that its end is not certain."
_TOO_LARGE = "The call is too large."
# Text that was held and let go is read again; this often at most, so that time stays linear.
_MOST_AGAIN = 64


class TextScanner:
    """``feed`` gives the visible text; ``found`` gets the list of calls of each form."""

    def __init__(self, known: Collection[str], found: Callable[[list[ToolCallPart]], None]) -> None:
        self._known, self._found = known, found
        self._span: Span | None = None
        self._held: Held | None = None
        self._half = ""  # The end of the text, which may begin a marker.
        self._gap = ""  # White space behind a form.
        self._shown = "\n"  # The last characters shown.
        self._fresh = True  # Nothing but white space yet.
        self._behind_form = self._had_form = False
        self._again = 0
        self._tagged: list[ToolCallPart] = []  # The last calls of parameter tags.

    def feed(self, text: str) -> str:
        """Take ``text`` in and give what the user may see of it."""
        out: list[str] = []
        text, self._half = self._half + text, ""
        while text:
            if self._span:
                text = self._in_form(self._span, text)
            elif self._held:
                text = self._in_held(self._held, text, out)
            else:
                text = self._in_text(text, out)
        return "".join(out)

    def end(self, *, complete: bool, limited: bool) -> str:
        """The rest of the visible text. A cut answer gives no further calls; in one that is
        ``limited`` an open form is an error."""
        out: list[str] = []
        while self._span or self._held:
            rest = ""
            if self._span:
                rest = self._open_form(self._span, limited=limited) if complete else ""
            elif self._held:
                calls = self._held.calls() if complete else []
                if calls:
                    self._found(calls)
                else:
                    rest = self._let_go(self._held, out)
            self._span = self._held = None
            out.append(self.feed(rest))
        # Half a tag is dropped; a lone angle bracket or half a fence is text.
        if self._half[:1] != "<" or len(self._half) < 3:
            self._show(self._half, out)
        self._half = ""
        return "".join(out)

    def _show(self, text: str, out: list[str]) -> None:
        if not text:
            return
        if self._behind_form:
            self._behind_form = False
            if not self._shown[-1:].isspace():
                text = self._gap + text
        self._gap = ""
        self._shown = (self._shown + text)[-2:]
        out.append(text)

    def _in_text(self, text: str, out: list[str]) -> str:
        if self._behind_form:
            rest = text.lstrip()
            self._gap = (self._gap + text[: len(text) - len(rest)])[:2]
            if not (text := rest):
                return ""
        if self._fresh and (rest := text.lstrip()):
            self._fresh = False
            if rest[0] in "{[":
                self._show(text[: len(text) - len(rest)], out)
                self._held = Held("", self._known)
                return rest
        match = _MARKER.search(text)
        if match is None:
            cut = len(text) - unfinished(text, _MARKS)
            self._show(text[:cut], out)
            self._half = text[cut:]
            return ""
        self._show(text[: match.start()], out)
        self._marker(match.group(), out)
        return text[match.end() :]

    def _marker(self, mark: str, out: list[str]) -> None:
        if mark in _FENCES and self._shown.endswith("\n") and self._again < _MOST_AGAIN:
            self._held = Held(mark, self._known)
        elif mark in _STRAY and self._had_form:
            if mark == "</parameter>":
                self._tagged[:] = [broken(call.name, _UNSURE) for call in self._tagged]
        elif mark in _OPENERS and not self._quoted:
            self._span = Span(_OPENERS[mark])
        else:
            self._show(mark, out)

    @property
    def _quoted(self) -> bool:
        """Whether an inline code mark stands before: then a tag is talked about, not used."""
        return self._shown[-1:] == "`" and self._shown != "``"

    def _in_held(self, held: Held, text: str, out: list[str]) -> str:
        if held.feed(text):
            return ""
        self._held = None
        return self._let_go(held, out)

    def _let_go(self, held: Held, out: list[str]) -> str:
        """Text after all: its first characters are shown, the rest is to be read again."""
        self._again += 1
        self._show(held.opening[:3], out)
        return held.opening[3:] + held.text

    def _in_form(self, span: Span, text: str) -> str:
        rest = span.feed(text)
        if rest is None:
            return ""
        self._span = None
        self._add(span, span.body, mend=True)
        return rest

    def _open_form(self, span: Span, *, limited: bool) -> str:
        """A form without its end, at the end of the answer; gives back what is text."""
        body, rest = span.body, ""
        if not limited and (parts := span.give_up()) and self._again < _MOST_AGAIN:
            self._again += 1
            body, rest = parts
        elif not is_call(span.kind, body):
            return body
        self._add(span, body, mend=not limited, limited=limited)
        return rest

    def _add(self, span: Span, body: str, *, mend: bool, limited: bool = False) -> None:
        self._behind_form = self._had_form = True
        if not body.strip():
            return
        calls = FORMS[span.kind](body, mend=mend)
        if limited or span.too_large:
            why = _TOO_LARGE if span.too_large else _CUT
            calls = [broken(call.name, why) for call in calls]
        elif not span.closed and span.kind != "tool_call":
            # Nothing but the end tag tells that no argument is missing.
            calls = [replace(call, repaired=True) for call in calls]
        self._tagged = calls if span.kind == "function" else []
        self._found(calls)
