"""The events of a session: what clients are told, as frozen classes in a closed union.

On the wire an event is ``{"seq", "type", "session", "run", "at", "data"}``. ``seq`` grows for
ever within a session: it packs the id that Redis gave the event (milliseconds << 10 | count),
so it needs no counter and survives a lost stream. It stays below 2^53, as JavaScript wants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID

import orjson

from hermes_site.lib import clock
from hermes_site.lib.ids import id_text

# Larger payloads travel by reference (architecture: 64 KB an event).
MAX_EVENT = 64 * 1024
# Characters that are left of long texts in an event that is too large, tried in turn.
_CUTS = (8000, 2000, 500, 100)


@dataclass(frozen=True, kw_only=True)
class Event:
    """``durable`` events are rows; the others live in Redis only."""

    type: ClassVar[str]
    durable: ClassVar[bool] = True

    def data(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class RunQueued(Event):
    type = "run.queued"
    message: str
    position: int = 0


@dataclass(frozen=True, kw_only=True)
class RunStarted(Event):
    """``branched``: an earlier part of the conversation was left for this run."""

    type = "run.started"
    message: str
    engine: str
    model: str
    branched: bool = False


@dataclass(frozen=True, kw_only=True)
class MessageStarted(Event):
    """A new answer begins; with ``attempt`` above 1 the text of the earlier try is void."""

    type = "message.started"
    durable = False
    message: str
    role: str = "assistant"
    attempt: int = 1


@dataclass(frozen=True, kw_only=True)
class MessageDelta(Event):
    """``offset`` counts the characters (code points) before ``text``: the new text is what
    stood before the offset plus ``text``; a larger offset than that means events were missed."""

    type = "message.delta"
    durable = False
    message: str
    text: str
    offset: int


@dataclass(frozen=True, kw_only=True)
class ReasoningDelta(Event):
    type = "reasoning.delta"
    durable = False
    message: str
    text: str


@dataclass(frozen=True, kw_only=True)
class MessageCompleted(Event):
    """A message as it now stands in its row; ``text`` is cut (and ``truncated`` set) when the
    event would grow too large: the row has the whole."""

    type = "message.completed"
    message: str
    role: str
    text: str
    state: str
    position: int
    client_id: str | None = None
    model: str = ""
    truncated: bool = False


@dataclass(frozen=True, kw_only=True)
class ToolRequested(Event):
    type = "tool.requested"
    id: str
    message: str
    name: str
    category: str
    arguments: dict[str, Any]
    outcome: str
    why: str


@dataclass(frozen=True, kw_only=True)
class PermissionRequest(Event):
    type = "permission_request"
    id: str
    call: str
    tool: str
    category: str
    arguments: dict[str, Any]
    command: str
    expires_at: str
    why: str


@dataclass(frozen=True, kw_only=True)
class PermissionResolved(Event):
    type = "permission_resolved"
    id: str
    call: str
    decision: str
    by: str | None
    via: str


@dataclass(frozen=True, kw_only=True)
class ToolStarted(Event):
    type = "tool.started"
    id: str
    name: str


@dataclass(frozen=True, kw_only=True)
class ToolOutput(Event):
    type = "tool.output"
    durable = False
    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ToolCompleted(Event):
    type = "tool.completed"
    id: str
    name: str
    status: str
    result: str


@dataclass(frozen=True, kw_only=True)
class UsageReported(Event):
    type = "usage"
    input_tokens: int
    output_tokens: int
    model: str


@dataclass(frozen=True, kw_only=True)
class RunCompleted(Event):
    type = "run.completed"
    message: str | None


@dataclass(frozen=True, kw_only=True)
class RunFailed(Event):
    type = "run.failed"
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class RunCancelled(Event):
    type = "run.cancelled"
    by: str | None = None


@dataclass(frozen=True, kw_only=True)
class Trouble(Event):
    """Something that the user should know while the run goes on: a retry, a refused limit."""

    type = "error"
    durable = False
    code: str
    message: str


def encode(
    type: str, session_id: UUID | str, run_id: UUID | str | None, data: dict[str, Any], at: str = ""
) -> bytes:
    """The payload as it is stored in Redis: a JSON object without ``seq``.

    One that would be larger than ``MAX_EVENT`` has its long texts cut and ``truncated`` set: the
    rows have the whole.
    """
    event = {
        "type": type,
        "session": id_text(session_id),
        "run": id_text(run_id) if run_id else None,
        "at": at or clock.iso(clock.now()),
        "data": data,
    }
    payload = orjson.dumps(event)
    for longest in _CUTS:
        if len(payload) <= MAX_EVENT:
            break
        event["data"] = {**_cut(data, longest), "truncated": True}
        payload = orjson.dumps(event)
    return payload


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[:longest]}…"
    if isinstance(value, list):
        return [_cut(item, longest) for item in value]
    if isinstance(value, dict):
        return {key: _cut(item, longest) for key, item in value.items()}
    return value


def with_seq(seq: int, payload: bytes) -> bytes:
    """The event as clients get it, without decoding it."""
    return b'{"seq":%d,' % seq + payload[1:]


def seq_of(stream_id: bytes | str) -> int:
    """``1712345678901-3`` as one growing number below 2^53."""
    text = stream_id.decode() if isinstance(stream_id, bytes) else stream_id
    milliseconds, _, count = text.partition("-")
    return int(milliseconds) << 10 | min(int(count), 1023)


def stream_id(seq: int) -> str:
    return f"{seq >> 10}-{seq & 1023}"
