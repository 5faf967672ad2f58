"""One answer's calls, from all the ways in which a model can write them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from agents.calls.forms import broken, read_arguments
from agents.calls.lenient import Unreadable
from agents.calls.scanner import TextScanner
from agents.providers.base import ToolCallDelta, ToolCallPart
from hermes_site.lib.text import clean_json

MAX_CALLS = 64
MAX_ARGUMENTS = 1024 * 1024  # Characters of one call's arguments.
_ID = re.compile(r"[!-~]{1,64}")


@dataclass
class _Pending:
    """A call whose fragments still come in."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, part: ToolCallDelta) -> None:
        self.id, self.name = self.id or part.id, self.name or part.name
        self.size += len(part.arguments)
        if self.size <= MAX_ARGUMENTS:
            self.pieces.append(part.arguments)

    def calls(self, *, limited: bool) -> list[ToolCallPart]:
        """The calls in it: several where a server glued their arguments together."""
        text = "".join(self.pieces)
        if not (self.id or self.name or text.strip()):
            return []
        if self.size > MAX_ARGUMENTS:
            found = [broken(self.name, f"They are larger than {MAX_ARGUMENTS:,} characters.")]
        elif limited and not text.strip():
            found = [broken(self.name, "The answer reached its length limit before them.")]
        else:
            found = self._read(text, mend=not limited)
        return [replace(call, id=self.id if not place else "") for place, call in enumerate(found)]

    def _read(self, text: str, *, mend: bool) -> list[ToolCallPart]:
        try:
            values, repaired = read_arguments(text, mend=mend)
        except Unreadable as error:
            return [broken(self.name, str(error))]
        return [ToolCallPart("", self.name, value, repaired=repaired) for value in values]


class CallAssembler:
    """Fed with the parts of one answer of a model, and with nothing else.

    ``known`` are the names of the offered tools; calls without tags are recognised by them.
    Names are never changed: what is unknown is for the caller to refuse.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        # In the order of the answer: the key of a call in fragments, or the calls of a form.
        self._entries: list[str | list[ToolCallPart]] = []
        self._pending: dict[str, _Pending] = {}
        self._scanner = TextScanner(frozenset(known), self._entries.append)

    def text(self, text: str) -> str:
        """Take visible text in; gives the part of it that is certainly no markup of a call."""
        return self._scanner.feed(text)

    def delta(self, part: ToolCallDelta) -> None:
        """Take a fragment of a call in."""
        pending = self._pending.get(part.key)
        if pending is None:
            pending = self._pending[part.key] = _Pending()
            self._entries.append(part.key)
        # Of calls beyond the limit only the number counts.
        if len(self._pending) <= MAX_CALLS + 1:
            pending.add(part)

    def finish(self, *, complete: bool, limited: bool = False) -> tuple[str, list[ToolCallPart]]:
        """The rest of the visible text, and the calls in their order, each with an id of its own.

        ``complete`` False: the stream was cut, there are no calls. ``limited``: the model was
        stopped by a length limit or filter, so that a call not closed is an error.
        """
        rest = self._scanner.end(complete=complete, limited=limited)
        if not complete:
            return rest, []
        parsed = {key: pending.calls(limited=limited) for key, pending in self._pending.items()}
        # Some servers parse a tag into a call and leave the tag in the text too.
        echoes = [(call.name, call.arguments) for found in parsed.values() for call in found]
        calls: list[ToolCallPart] = []
        for entry in self._entries:
            if isinstance(entry, str):
                calls += parsed[entry]
            else:
                calls += [call for call in entry if (call.name, call.arguments) not in echoes]
        return rest, _with_ids(_capped(calls))


def _capped(calls: list[ToolCallPart]) -> list[ToolCallPart]:
    """At most ``MAX_CALLS``; the last one then tells the model so."""
    if len(calls) <= MAX_CALLS:
        return calls
    why = f"One answer may hold {MAX_CALLS} calls; this one and those behind it were not run."
    last = replace(calls[MAX_CALLS - 1], arguments={}, error=why)
    return [*calls[: MAX_CALLS - 1], last]


def _with_ids(calls: list[ToolCallPart]) -> list[ToolCallPart]:
    """Ids as the model gave them where they can serve, else new ones."""
    used: set[str] = set()
    found = []
    for call in calls:
        id_ = call.id
        if not _ID.fullmatch(id_) or id_ in used:
            id_ = f"call_{secrets.token_hex(12)}"
        used.add(id_)
        found.append(replace(call, id=id_, name=str(clean_json(call.name))))
    return found
