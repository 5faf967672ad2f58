"""Chat Completions as its many servers send it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agents.providers.base import (
    ChatMessage,
    Provider,
    ToolCallDelta,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from tests.agents.providers.conftest import Heard, listen, request
from tests.fakes.scripted_llm import ScriptedLLM, raw_sse, text

Connect = Callable[..., Provider]
STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def sse(*chunks: dict[str, Any], end: str = "data: [DONE]\n\n") -> bytes:
    return ("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + end).encode()


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def fragment(
    index: int | None = 0, arguments: Any = None, name: Any = None, **fields: Any
) -> dict[str, Any]:
    function = {"arguments": arguments, "name": name}
    call = fields | {"function": {k: v for k, v in function.items() if v is not None}}
    return delta(tool_calls=[call if index is None else call | {"index": index}])


async def hear(connect: Connect, data: bytes) -> Heard:
    with ScriptedLLM(raw_sse(data)) as llm:
        return await listen(connect("openai", llm), request())


@pytest.mark.parametrize(
    "data",
    [
        sse(delta(role="assistant"), delta(content="hi"), STOP, end=""),
        sse(delta(content="hi"), end="data: [DONE]\n\n"),
        sse(delta(content="hi"), STOP, end="data: [DONE]"),
        sse(delta(content="hi"), STOP).replace(b"data: ", b"data:"),
        sse(delta(content="hi"), STOP).replace(b"\n", b"\r\n"),
        sse(delta(content="hi"), STOP).replace(b"\n\n", b"\n"),
        b"\xef\xbb\xbf: PROCESSING\n\nid: 1\nretry: 5\n\n" + sse(delta(content="hi"), STOP),
        sse({}, {"choices": None}, {"choices": [None]}, delta(content="hi"), STOP),
        sse({"choices": [{"delta": None}]}, delta(content=None), delta(content="hi"), STOP),
        sse(delta(content="hi", tool_calls=None, function_call=None, reasoning=None), STOP),
        sse(delta(content="hi", tool_calls=[]), {"choices": [], "usage": None}, STOP),
        sse(delta(content="hi", tool_calls=[None, {}, {"function": None}]), STOP),
        sse({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}),
        sse(delta(content="hi"), {"choices": [{"finish_reason": "", "delta": {}}]}, STOP),
        sse(delta(content="hi"), {"choices": [{"index": 1, "delta": {"content": "no"}}]}, STOP),
        b"data: 7\n\ndata: null\n\ndata:\n\n" + sse(delta(content="hi"), STOP),
        sse(delta(content="hi") | {"logprobs": float("nan")}, STOP),
        sse(delta(content="hi"), STOP, end="data: [DONE]\n\ndata: {\n\n"),
        sse(delta(refusal="hi"), STOP),
    ],
)
async def test_sloppy_servers(connect: Connect, data: bytes) -> None:
    heard = await hear(connect, data)
    assert (heard.text, heard.finish, heard.error, heard.calls) == ("hi", "stop", None, [])


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", "stop"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("length", "length"),
        ("content_filter", "refusal"),
        ("eos", "stop"),
    ],
)
async def test_finish_reasons(connect: Connect, reason: str, expected: str) -> None:
    end = {"choices": [{"delta": {}, "finish_reason": reason}]}
    assert (await hear(connect, sse(delta(content="x"), end))).finish == expected


async def test_calls_that_end_with_stop_are_calls(connect: Connect) -> None:
    heard = await hear(connect, sse(fragment(0, "{}", "read_file", id="a"), STOP))
    assert heard.finish == "tool_calls"


async def test_an_error_as_finish_reason(connect: Connect) -> None:
    end = {"choices": [{"delta": {}, "finish_reason": "error"}]}
    heard = await hear(connect, sse(delta(content="x"), end))
    assert heard.error is not None
    assert (heard.error.code, heard.error.retry) == ("overloaded", True)


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
async def test_reasoning(connect: Connect, name: str) -> None:
    data = sse(delta(**{name: "hm"}), delta(**{name: "m"}, content=""), delta(content="x"), STOP)
    heard = await hear(connect, data)
    assert (heard.reasoning, heard.text) == ("hmm", "x")


async def test_the_last_usage_counts(connect: Connect) -> None:
    data = sse(
        delta(content="x") | {"usage": {"prompt_tokens": 1, "completion_tokens": 1}},
        STOP,
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": None}},
    )
    assert (await hear(connect, data)).usage == Usage(3, 0)


async def test_an_error_after_the_end_takes_nothing_away(connect: Connect) -> None:
    data = sse(delta(content="x"), STOP, {"error": {"message": "late"}}, end="")
    heard = await hear(connect, data)
    assert (heard.text, heard.finish, heard.error) == ("x", "stop", None)


F, S = "web_fetch", "web_search"
FOUR = [(F, {"u": 1}), (F, {"u": 2}), (S, {"q": 3}), (F, {"u": 4})]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        # G01: several calls on one index without ids, with and without names.
        (
            [fragment(0, f'{{"u":{n}}}', F if n == 1 else None) for n in (1, 2, 4)],
            [(F, {"u": 1}), (F, {"u": 2}), (F, {"u": 4})],
        ),
        (
            [
                fragment(0, '{"u":1}', F),
                fragment(0, '{"u":2}', F),
                fragment(0, '{"q":3}', S),
                fragment(0, '{"u":4}', F),
            ],
            FOUR,
        ),
        ([fragment(None, json.dumps(a), n) for n, a in FOUR], FOUR),
        ([fragment(0, json.dumps(a), n, id="same") for n, a in FOUR], FOUR),
        ([fragment(0, json.dumps(a), n, id=f"c{i}") for i, (n, a) in enumerate(FOUR)], FOUR),
        ([fragment(i, json.dumps(a), n, id="same") for i, (n, a) in enumerate(FOUR)], FOUR),
        ([fragment(i, a, n) for i, (n, a) in enumerate(FOUR)], FOUR),
        (
            [delta(tool_calls=[{"function": {"name": n, "arguments": a}} for n, a in FOUR[1:3]])],
            FOUR[1:3],
        ),
        # Interleaved by id on one index.
        (
            [
                fragment(0, '{"u"', F, id="a"),
                fragment(0, '{"q"', S, id="b"),
                fragment(0, ":1}", id="a"),
                fragment(0, ":3}", id="b"),
            ],
            [(F, {"u": 1}), (S, {"q": 3})],
        ),
        # Id and name repeated in each fragment.
        ([fragment(0, piece, F, id="a") for piece in ('{"u"', ":", "1}")], [(F, {"u": 1})]),
        ([fragment(0, "", F), fragment(0, '{"u":1}', "", id="late")], [(F, {"u": 1})]),
        ([fragment(0, None, F), fragment(None, '{"u":1}')], [(F, {"u": 1})]),
        ([delta(function_call={"name": F, "arguments": '{"u":1}'})], [(F, {"u": 1})]),
        ([fragment(0, "{}", F), fragment(0, '{"u":1}')], [(F, {"u": 1})]),
    ],
)
async def test_which_fragment_belongs_to_which_call(
    connect: Connect, chunks: list[dict[str, Any]], expected: list[tuple[str, dict[str, Any]]]
) -> None:
    heard = await hear(connect, sse(*chunks, STOP))
    assert [(call.name, call.arguments) for call in heard.calls] == expected
    assert all(call.error is None and not call.repaired for call in heard.calls)
    ids = [call.id for call in heard.calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)


async def test_id_and_name_come_once(connect: Connect) -> None:
    heard = await hear(connect, sse(*[fragment(0, "x", F, id="a")] * 2, STOP))
    deltas = [part for part in heard.parts if isinstance(part, ToolCallDelta)]
    assert [(part.id, part.name) for part in deltas] == [("a", F), ("", "")]


async def test_the_layout_of_a_history(connect: Connect) -> None:
    pair = (ToolCallPart("a", F, {"u": 1}), ToolCallPart("b", "bad name!", {"x": "é"}))
    results = (ToolResultPart("a", F, "one"), ToolResultPart("b", "bad name!", "two", True))
    # A local model that numbers its calls anew in each answer.
    again = (ToolCallPart("a", S, {}),), (ToolResultPart("a", S, "three"),)
    history = (
        ChatMessage("user", "go"),
        ChatMessage("assistant", "I look.", pair, results),
        ChatMessage("assistant", "", *again),
        ChatMessage("assistant", ""),
        ChatMessage("user", "and?"),
    )
    with ScriptedLLM(text("ok")) as llm:
        await listen(connect("openai", llm), request(*history, max_output=99, temperature=0.5))
        sent = llm.bodies[0]
    roles = [message["role"] for message in sent["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "tool", "user"]
    first, second = sent["messages"][2], sent["messages"][5]
    assert first["content"] == "I look."
    assert [call["function"] for call in first["tool_calls"]] == [
        {"name": F, "arguments": '{"u":1}'},
        {"name": "bad_name_", "arguments": '{"x":"é"}'},
    ]
    asked = [call["id"] for call in [*first["tool_calls"], *second["tool_calls"]]]
    answered = [m["tool_call_id"] for m in sent["messages"] if m["role"] == "tool"]
    assert asked == answered
    assert len(set(asked)) == 3
    assert (sent["max_tokens"], sent["temperature"]) == (99, 0.5)
    assert sent["stream_options"] == {"include_usage": True}
