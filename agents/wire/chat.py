"""The Chat Completions wire format: history out, chunks in, also those of sloppy servers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from agents.providers.base import (
    Account,
    ChatMessage,
    Finish,
    ModelError,
    ModelRequest,
    Part,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from agents.wire.errors import of_event
from agents.wire.history import check_history, wire_arguments, wire_ids, wire_name, wire_text
from agents.wire.sse import TextJoiner, decode

_REFUSED_IN_IDS = re.compile(r"[^!-~]")
_REASONS = {
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}


def chat_body(request: ModelRequest) -> dict[str, Any]:
    """Messages and tools of a request. Raises ``ModelError`` for a history that is not valid."""
    check_history(request.messages)
    messages = [{"role": "system", "content": wire_text(request.system)}] if request.system else []
    ids = wire_ids(request.messages, _REFUSED_IN_IDS)
    for message, call_ids in zip(request.messages, ids, strict=True):
        messages += _laid_out(message, call_ids)
    body: dict[str, Any] = {"model": request.model, "messages": messages}
    if request.tools:
        body["tools"] = [{"type": "function", "function": tool} for tool in request.tools]
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def _laid_out(message: ChatMessage, ids: list[str]) -> list[dict[str, Any]]:
    laid: dict[str, Any] = {"role": message.role, "content": wire_text(message.content)}
    if not message.calls:
        return [laid] if message.content else []
    laid["tool_calls"] = [
        {
            "id": id_,
            "type": "function",
            "function": {
                "name": wire_name(call.name),
                "arguments": wire_arguments(call.arguments).decode(),
            },
        }
        for call, id_ in zip(message.calls, ids, strict=True)
    ]
    results = [
        {"role": "tool", "tool_call_id": id_, "content": wire_text(result.content)}
        for result, id_ in zip(message.results, ids, strict=True)
    ]
    return [laid, *results]


@dataclass
class _Slot:
    """The call that an index of the stream stands for at present."""

    key: str
    id: str = ""
    name: str = ""


@dataclass
class ChatAnswer:
    """One answer as its chunks come in. ``done`` is set by the final marker, ``reason`` by the
    server's finish reason."""

    account: Account
    done: bool = False
    reason: str = ""
    _called: bool = False
    _slots: dict[str, _Slot] = field(default_factory=dict)
    _by_id: dict[tuple[str, str], _Slot] = field(default_factory=dict)
    _last: str = "0"
    _made: int = 0
    _text: TextJoiner = field(default_factory=TextJoiner)
    _reasoning: TextJoiner = field(default_factory=TextJoiner)

    @property
    def finish(self) -> Finish | None:
        """The end of the answer, None when it was cut."""
        if not self.reason and not self.done:
            return None
        reason = _REASONS.get(self.reason, "stop")
        return Finish("tool_calls" if reason == "stop" and self._called else reason)

    def parts(self, payload: bytes) -> Iterator[Part]:
        """The parts of one event. Raises ``ModelError`` for an error in the stream."""
        if payload == b"[DONE]":
            self.done = True
            return
        if not payload:
            return
        chunk = decode(payload)
        self._check(chunk)
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                yield from self._choice(choice)
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            yield Usage(_count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))

    def _check(self, chunk: dict[str, Any]) -> None:
        if error := chunk.get("error"):
            raise of_event(error, self.account)
        if chunk.get("object") == "error":
            raise of_event(chunk, self.account)

    def _choice(self, choice: dict[str, Any]) -> Iterator[Part]:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            thought = delta.get("reasoning_content") or delta.get("reasoning")
            if thought and isinstance(thought, str):
                yield ReasoningDelta(self._reasoning.push(thought))
            text = delta.get("content") or delta.get("refusal")
            if text and isinstance(text, str) and (text := self._text.push(text)):
                yield TextDelta(text)
            if calls := delta.get("tool_calls"):
                yield from self._calls(calls)
            if call := delta.get("function_call"):
                yield from self._calls([{"function": call}])
        reason = choice.get("finish_reason")
        if reason == "error":
            message = "The model server broke the answer off with an error."
            raise ModelError("overloaded", message, retry=True)
        if reason and isinstance(reason, str):
            self.reason = reason

    def _calls(self, calls: object) -> Iterator[ToolCallDelta]:
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(function, dict):
                continue
            self._called = True
            index = call.get("index")
            self._last = self._last if index is None else str(index)
            id_, name = _string(call.get("id")), _string(function.get("name"))
            slot = self._slot(id_, name)
            news = (id_ if not slot.id else "", name if not slot.name else "")
            slot.id, slot.name = slot.id or id_, slot.name or name
            arguments = function.get("arguments")
            if isinstance(arguments, dict):
                arguments = orjson.dumps(arguments).decode()
            yield ToolCallDelta(slot.key, *news, _string(arguments))

    def _slot(self, id_: str, name: str) -> _Slot:
        """The call that a fragment belongs to. Servers reuse an index for the next call, with a
        new id or name, or without an id; some repeat id and name in each fragment."""
        slot = self._slots.get(self._last)
        known = self._by_id.get((self._last, id_)) if id_ else None
        if known is not None:
            slot = known
        if (
            slot is None
            or (id_ and slot.id and id_ != slot.id)
            or (name and slot.name and name != slot.name)
        ):
            self._made += 1
            slot = _Slot(f"{self._last}.{self._made}")
        self._slots[self._last] = slot
        if id_:
            self._by_id[self._last, id_] = slot
        return slot


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(usage: dict[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and value >= 0 else 0
