"""The Anthropic Messages wire format: history out, events in."""

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

_REFUSED_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
_REASONS = {
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
# The API wants a user message first; a conversation may begin with a greeting of ours.
_OPENING = "(The conversation begins.)"
Block = dict[str, Any]


def messages_body(request: ModelRequest) -> dict[str, Any]:
    """Messages and tools of a request; neighbours of one role become one message.

    Raises ``ModelError`` for a history that is not valid.
    """
    check_history(request.messages)
    messages: list[dict[str, Any]] = []
    ids = wire_ids(request.messages, _REFUSED_IN_IDS)
    for message, call_ids in zip(request.messages, ids, strict=True):
        _add(messages, message.role, _said(message, call_ids))
        _add(messages, "user", _observed(message, call_ids))
    if messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": [_text(_OPENING)]})
    body: dict[str, Any] = {"model": request.model, "messages": messages}
    if request.system:
        body["system"] = wire_text(request.system)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def _add(messages: list[dict[str, Any]], role: str, blocks: list[Block]) -> None:
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _said(message: ChatMessage, ids: list[str]) -> list[Block]:
    # Empty text is refused, and so is a last answer that ends with white space.
    text = message.content.rstrip()
    blocks = [_text(text)] if text else []
    for call, id_ in zip(message.calls, ids, strict=True):
        arguments = orjson.loads(wire_arguments(call.arguments))
        blocks.append(
            {"type": "tool_use", "id": id_, "name": wire_name(call.name), "input": arguments}
        )
    return blocks


def _observed(message: ChatMessage, ids: list[str]) -> list[Block]:
    return [
        {
            "type": "tool_result",
            "tool_use_id": id_,
            "content": wire_text(result.content) or "(no output)",
            "is_error": result.is_error,
        }
        for result, id_ in zip(message.results, ids, strict=True)
    ]


def _text(text: str) -> Block:
    return {"type": "text", "text": wire_text(text)}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "input_schema": tool["parameters"],
    }


@dataclass
class MessagesAnswer:
    """One answer as its events come in. ``done`` is set by the final event, ``reason`` by the
    stop reason."""

    account: Account
    done: bool = False
    reason: str = ""
    _called: bool = False
    _usage: Usage = field(default_factory=Usage)
    _keys: dict[str, str] = field(default_factory=dict)
    _whole_input: dict[str, str] = field(default_factory=dict)
    _started: int = 0
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
        event = decode(payload) if payload and payload != b"[DONE]" else {}
        match event.get("type"):
            case "content_block_delta":
                yield from self._delta(str(event.get("index")), _dict(event, "delta"))
            case "content_block_start":
                yield from self._start(str(event.get("index")), _dict(event, "content_block"))
            case "content_block_stop":
                yield from self._stop(str(event.get("index")))
            case "message_start":
                yield from self._count(_dict(_dict(event, "message"), "usage"))
            case "message_delta":
                reason = _dict(event, "delta").get("stop_reason")
                self.reason = reason if isinstance(reason, str) else self.reason
                yield from self._count(_dict(event, "usage"))
            case "message_stop":
                self.done = True
            case "message":
                yield from self._message(event)
            case _ if event.get("error"):
                raise of_event(event["error"], self.account)

    def _start(self, index: str, block: Block) -> Iterator[Part]:
        kind = block.get("type")
        if kind == "text" and block.get("text"):
            yield from self._delta(index, {"type": "text_delta", "text": block["text"]})
        elif kind == "thinking" and block.get("thinking"):
            yield from self._delta(index, {"type": "thinking_delta", "thinking": block["thinking"]})
        elif kind == "tool_use":
            self._called = True
            self._started += 1
            # An index that begins again is another call.
            key = self._keys[index] = f"{index}.{self._started}"
            if block.get("input"):
                self._whole_input[index] = orjson.dumps(block["input"]).decode()
            yield ToolCallDelta(key, str(block.get("id") or ""), str(block.get("name") or ""))

    def _delta(self, index: str, delta: Block) -> Iterator[Part]:
        kind = delta.get("type")
        if kind == "text_delta":
            if text := self._text.push(str(delta.get("text") or "")):
                yield TextDelta(text)
        elif kind == "thinking_delta":
            if text := self._reasoning.push(str(delta.get("thinking") or "")):
                yield ReasoningDelta(text)
        elif kind == "input_json_delta" and index in self._keys:
            piece = str(delta.get("partial_json") or "")
            if piece:
                self._whole_input.pop(index, None)
                yield ToolCallDelta(self._keys[index], arguments=piece)

    def _stop(self, index: str) -> Iterator[Part]:
        # Some gateways send the whole input at the start and nothing more.
        if whole := self._whole_input.pop(index, ""):
            yield ToolCallDelta(self._keys[index], arguments=whole)

    def _message(self, message: dict[str, Any]) -> Iterator[Part]:
        """A whole answer, from a gateway that does not stream."""
        blocks = message.get("content")
        for place, block in enumerate(blocks if isinstance(blocks, list) else ()):
            if isinstance(block, dict):
                yield from self._start(str(place), block)
                yield from self._stop(str(place))
        yield from self._count(_dict(message, "usage"))
        self.reason, self.done = str(message.get("stop_reason") or ""), True

    def _count(self, usage: dict[str, Any]) -> Iterator[Usage]:
        """Input tokens come at the start, output tokens at the end; what was read from the
        cache counts as input."""
        inputs = [
            value
            for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            if isinstance(value := usage.get(name), int)
        ]
        output = usage.get("output_tokens")
        if inputs or isinstance(output, int):
            self._usage = Usage(
                sum(inputs) if sum(inputs) else self._usage.input_tokens,
                output if isinstance(output, int) else self._usage.output_tokens,
            )
            yield self._usage


def _dict(value: dict[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}
