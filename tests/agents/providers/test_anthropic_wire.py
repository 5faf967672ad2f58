"""The Messages API, and gateways that speak it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agents.providers.base import (
    ChatMessage,
    ModelProfile,
    Provider,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from tests.agents.providers.conftest import TOOLS, Heard, listen, request
from tests.fakes.scripted_llm import ScriptedLLM, raw_sse, text

Connect = Callable[..., Provider]


def event(kind: str, index: int | None = None, **fields: Any) -> bytes:
    body = {"type": kind} | fields | ({} if index is None else {"index": index})
    return f"event: {kind}\ndata: {json.dumps(body)}\n\n".encode()


def tool(index: int, name: str, **fields: Any) -> bytes:
    block = {"type": "tool_use", "id": f"t{index}", "name": name, "input": {}} | fields
    return event("content_block_start", index, content_block=block)


def piece(index: int, text: str) -> bytes:
    delta = {"type": "input_json_delta", "partial_json": text}
    return event("content_block_delta", index, delta=delta)


def said(index: int, text: str) -> bytes:
    return event("content_block_delta", index, delta={"type": "text_delta", "text": text})


END = event("message_delta", delta={"stop_reason": "tool_use"}) + event("message_stop")


async def hear(connect: Connect, *data: bytes) -> Heard:
    with ScriptedLLM(raw_sse(b"".join(data))) as llm:
        return await listen(connect("anthropic", llm), request())


async def test_interleaved_blocks_are_kept_apart(connect: Connect) -> None:
    """G13: fragments of two calls in turn."""
    first, second = '{"path": "a", "n": [1, 2]}', '{"q": "}{", "x": null}'
    mixed = [
        part
        for a, b in zip(first.ljust(len(second)), second.ljust(len(first)), strict=True)
        for part in (piece(1, a), piece(2, b))
    ]
    heard = await hear(
        connect, tool(1, "read_file"), tool(2, "web_search"), said(0, "hm"), *mixed, END
    )
    assert [(call.id, call.name, call.arguments) for call in heard.calls] == [
        ("t1", "read_file", {"path": "a", "n": [1, 2]}),
        ("t2", "web_search", {"q": "}{", "x": None}),
    ]
    assert heard.text == "hm"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([tool(0, "f", input={"a": 1}), event("content_block_stop", 0)], [{"a": 1}]),
        ([tool(0, "f", input={"a": 1}), piece(0, '{"a":2}')], [{"a": 2}]),
        ([tool(0, "f"), piece(0, ""), event("content_block_stop", 0)], [{}]),
        ([tool(0, "f"), piece(0, '{"a":1}'), tool(0, "f"), piece(0, "{}")], [{"a": 1}, {}]),
        ([tool(0, "f"), piece(9, '{"a":1}'), event("content_block_stop", 9)], [{}]),
    ],
)
async def test_inputs(connect: Connect, parts: list[bytes], expected: list[Any]) -> None:
    heard = await hear(connect, *parts, END)
    assert [call.arguments for call in heard.calls] == expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("tool_use", "tool_calls"),
    ],
)
async def test_stop_reasons(connect: Connect, reason: str, expected: str) -> None:
    # Also without the last event: the reason has been given.
    heard = await hear(connect, said(0, "x"), event("message_delta", delta={"stop_reason": reason}))
    assert (heard.finish, heard.error) == (expected, None)


async def test_thinking_pings_and_unknown_events(connect: Connect) -> None:
    thinking = {"type": "thinking_delta", "thinking": "hmm"}
    heard = await hear(
        connect,
        event("ping"),
        event("content_block_start", 0, content_block={"type": "thinking", "thinking": ""}),
        event("content_block_delta", 0, delta=thinking),
        event("content_block_delta", 0, delta={"type": "signature_delta", "signature": "zz"}),
        event("content_block_start", 1, content_block={"type": "redacted_thinking", "data": "q"}),
        event("content_block_start", 2, content_block={"type": "text", "text": "x"}),
        event("content_block_delta", 2, delta=None),
        event("something_new", 3),
        event("message_stop"),
    )
    assert (heard.reasoning, heard.text, heard.finish) == ("hmm", "x", "stop")


async def test_usage_adds_the_cache_and_ends_with_the_output(connect: Connect) -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": None}
    heard = await hear(
        connect,
        event("message_start", message={"usage": usage | {"output_tokens": 1}}),
        said(0, "x"),
        event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 4}),
        event("message_stop"),
    )
    assert heard.usage == Usage(12, 4)


async def test_the_layout_of_a_history(connect: Connect) -> None:
    pair = (ToolCallPart("a:1", "read_file", {"u": 1}), ToolCallPart("b", "?" * 500, {}))
    results = (ToolResultPart("a:1", "read_file", "one"), ToolResultPart("b", "?", "", True))
    history = (
        ChatMessage("assistant", "Welcome!"),
        ChatMessage("user", "go"),
        ChatMessage("user", "now"),
        ChatMessage("assistant", "I look. \n", pair, results),
        ChatMessage("user", "and?"),
        ChatMessage("assistant", "  "),
        ChatMessage("assistant", "Done. "),
    )
    with ScriptedLLM(text("ok")) as llm:
        await listen(connect("anthropic", llm), request(*history, temperature=0.25))
        sent = llm.bodies[0]
    messages = sent["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * 3
    assert [block["text"] for block in messages[2]["content"]] == ["go", "now"]
    words, *uses = messages[3]["content"]
    assert words == {"type": "text", "text": "I look."}
    assert [(use["id"], use["name"], use["input"]) for use in uses] == [
        ("a_1", "read_file", {"u": 1}),
        ("b", "_" * 64, {}),
    ]
    *observed, question = messages[4]["content"]
    assert [(block["tool_use_id"], block["content"], block["is_error"]) for block in observed] == [
        ("a_1", "one", False),
        ("b", "(no output)", True),
    ]
    assert question["text"] == "and?"
    assert messages[5]["content"] == [{"type": "text", "text": "Done."}]
    assert (sent["system"], sent["temperature"], sent["max_tokens"]) == ("Be brief.", 0.25, 8192)
    assert sent["tools"][0] == {
        "name": "web_fetch",
        "description": "The tool web_fetch.",
        "input_schema": TOOLS[0]["parameters"],
    }


@pytest.mark.parametrize(
    ("asked", "profile", "expected"),
    [(100, None, 100), (None, ModelProfile(max_output=512), 512), (None, ModelProfile(), 8192)],
)
async def test_the_output_limit(
    connect: Connect, asked: int | None, profile: ModelProfile | None, expected: int
) -> None:
    with ScriptedLLM(text("ok")) as llm:
        await listen(connect("anthropic", llm, profile=profile), request(max_output=asked))
        assert llm.bodies[0]["max_tokens"] == expected


async def test_the_address_with_and_without_its_version(connect: Connect) -> None:
    with ScriptedLLM(text("a"), text("b"), strict=True) as llm:
        for url in (llm.anthropic_url + "/", llm.anthropic_url + "/v1/"):
            assert (await listen(connect("anthropic", url), request())).error is None
        assert {sent.path for sent in llm.requests} == {"/v1/messages"}
