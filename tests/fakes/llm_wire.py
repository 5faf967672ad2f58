"""Answers as the two model APIs put them on the wire, one bytes object an event."""

from __future__ import annotations

import json
from typing import Any

Call = tuple[str, dict[str, Any]]


def openai_events(
    text: str = "", calls: list[Call] | None = None, finish: str = "", size: int = 8
) -> list[bytes]:
    """A streamed chat completion; ``size`` is the characters of a fragment."""
    chunks: list[dict[str, Any]] = [_chunk({"role": "assistant", "content": ""})]
    chunks += [_chunk({"content": piece}) for piece in pieces(text, size)]
    for index, (name, arguments) in enumerate(calls or []):
        function = {"name": name, "arguments": ""}
        head = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
        chunks.append(_chunk({"tool_calls": [head]}))
        chunks += [
            _chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in pieces(json.dumps(arguments), size)
        ]
    chunks.append(_chunk({}, finish or ("tool_calls" if calls else "stop")))
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    chunks.append({"object": "chat.completion.chunk", "choices": [], "usage": usage})
    return [*(b"data: " + dumps(chunk) + b"\n\n" for chunk in chunks), b"data: [DONE]\n\n"]


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}


def anthropic_events(
    text: str = "", calls: list[Call] | None = None, finish: str = "", size: int = 8
) -> list[bytes]:
    """A streamed message; ``size`` is the characters of a fragment."""
    usage = {"input_tokens": 7, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    if text:
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(text, size)]
        events += _block(0, {"type": "text", "text": ""}, deltas)
    for index, (name, arguments) in enumerate(calls or [], start=1 if text else 0):
        block = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
        events += _block(
            index,
            block,
            [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in pieces(json.dumps(arguments), size)
            ],
        )
    reason = finish or ("tool_use" if calls else "end_turn")
    delta = {"stop_reason": reason, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}})
    events.append({"type": "message_stop"})
    return [f"event: {event['type']}\ndata: ".encode() + dumps(event) + b"\n\n" for event in events]


def _block(index: int, start: dict[str, Any], deltas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def openai_answer(text: str = "", calls: list[Call] | None = None) -> dict[str, Any]:
    """A chat completion that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{index}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for index, (name, arguments) in enumerate(calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 5}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def anthropic_answer(text: str = "", calls: list[Call] | None = None) -> dict[str, Any]:
    """A message that is not streamed."""
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": arguments}
        for index, (name, arguments) in enumerate(calls or [])
    ]
    usage = {"input_tokens": 7, "output_tokens": 5}
    reason = "tool_use" if calls else "end_turn"
    return {"type": "message", "content": content, "stop_reason": reason, "usage": usage}


def pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def dumps(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
