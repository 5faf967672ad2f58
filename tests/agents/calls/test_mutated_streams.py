"""P25: whatever comes over the wire, nothing crashes and nothing runs that was not whole."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from agents.calls import CallAssembler
from agents.providers.base import (
    Account,
    Finish,
    ModelError,
    TextDelta,
    ToolCallDelta,
    ToolCallPart,
)
from agents.wire.blocks import MessagesAnswer
from agents.wire.chat import ChatAnswer
from agents.wire.sse import SseDecoder
from tests.agents.calls.conftest import KNOWN
from tests.fakes.llm_wire import anthropic_events, openai_events

MUTATIONS = 250  # For each of the six forms.
ARGUMENTS = {
    "path": "notes/été.txt",
    "text": 'one "two" </tool_call> \\ {three} ```\n' + "x" * 120,
    "lines": [1, 22, 333],
    "more": {"deep": None, "flag": True},
}
ACCOUNT = Account("acme", "openai", "k")
JSON = json.dumps({"name": "write_file", "arguments": ARGUMENTS})
TAGS = "".join(
    f"<parameter={key}>\n{json.dumps(value)}\n</parameter>\n" for key, value in ARGUMENTS.items()
)
PYTHON = ", ".join(f"{key}={value!r}" for key, value in ARGUMENTS.items())


def _in_text(text: str) -> bytes:
    return b"".join(openai_events(text))


STREAMS: dict[str, tuple[Any, bytes]] = {
    "openai": (ChatAnswer, b"".join(openai_events("", [("write_file", ARGUMENTS)]))),
    "anthropic": (MessagesAnswer, b"".join(anthropic_events("", [("write_file", ARGUMENTS)]))),
    "hermes": (ChatAnswer, _in_text(f"<tool_call>{JSON}</tool_call>")),
    "tags": (ChatAnswer, _in_text(f"<function=write_file>\n{TAGS}</function>")),
    "liquid": (ChatAnswer, _in_text(f"<|tool_call_start|>[write_file({PYTHON})]<|tool_call_end|>")),
    "fence": (ChatAnswer, _in_text(f"```json\n{JSON}\n```")),
}
TEXTUAL = {
    "hermes": f"<tool_call>{JSON}</tool_call>",
    "tags": f"<function=write_file>\n{TAGS}</function>",
    "liquid": f"<|tool_call_start|>[write_file({PYTHON})]<|tool_call_end|>",
    "fence": f"```json\n{JSON}\n```",
}


def play(make: Callable[[Account], Any], data: bytes) -> tuple[bool, str, list[ToolCallPart]]:
    """Whether the answer ended, what was shown, and the calls; as provider and loop do it."""
    answer, decoder, assembler = make(ACCOUNT), SseDecoder(), CallAssembler(KNOWN)
    shown, finish = "", None
    try:
        for payload in [*decoder.feed(data), *decoder.end()]:
            for part in answer.parts(payload):
                if isinstance(part, TextDelta):
                    shown += assembler.text(part.text)
                elif isinstance(part, ToolCallDelta):
                    assembler.delta(part)
        finish = answer.finish
    except ModelError:
        finish = None
    assert finish is None or isinstance(finish, Finish)
    limited = finish is not None and finish.reason in ("length", "refusal")
    rest, calls = assembler.finish(complete=finish is not None, limited=limited)
    return finish is not None, shown + rest, calls


def _whole(form: str) -> dict[str, Any]:
    if form != "tags":
        return ARGUMENTS
    return {key: json.dumps(value) for key, value in ARGUMENTS.items()}


@pytest.mark.parametrize("form", STREAMS)
def test_the_whole_stream_is_the_call(form: str) -> None:
    ended, shown, calls = play(*STREAMS[form])
    assert (ended, shown) == (True, "")
    assert [(c.name, c.arguments, c.error, c.repaired) for c in calls] == [
        ("write_file", _whole(form), None, False)
    ]


@pytest.mark.parametrize("form", STREAMS)
def test_a_stream_cut_at_any_byte_calls_nothing(form: str) -> None:
    """G15: until the server says why the answer ended, nothing counts."""
    make, data = STREAMS[form]
    end = data.rindex(b"tool_use" if form == "anthropic" else b'"finish_reason":"')
    for cut in range(0, end, 1 if end < 3000 else 7):
        ended, shown, calls = play(make, data[:cut])
        assert (ended, calls) == (False, [])
        if form != "fence":
            assert shown == ""


@pytest.mark.parametrize("form", TEXTUAL)
def test_an_answer_stopped_at_any_character_runs_nothing(form: str) -> None:
    text = TEXTUAL[form]
    end = ["</tool_call>", "</function>", "]<|tool_call_end|>", "\n```"]
    closing = next(len(mark) for mark in end if text.endswith(mark))
    for cut in range(len(text) - closing):
        for limited in (True, False):
            assembler = CallAssembler(KNOWN)
            assembler.text(text[:cut])
            _, calls = assembler.finish(complete=True, limited=limited)
            # Without the limit the form may be whole but for its end tag, and says so.
            ran = [call for call in calls if not call.error and (limited or not call.repaired)]
            assert all(call.arguments == _whole(form) for call in ran), cut
            assert not (limited and ran), cut


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_fragments_stopped_at_any_character_run_nothing(form: str) -> None:
    text = json.dumps(ARGUMENTS)
    for cut in range(len(text)):
        assembler = CallAssembler(KNOWN)
        assembler.delta(ToolCallDelta("0", "a", "write_file", text[:cut]))
        _, (call,) = assembler.finish(complete=True, limited=True)
        assert call.error
        if cut:
            assembler = CallAssembler(KNOWN)
            assembler.delta(ToolCallDelta("0", "a", "write_file", text[:cut]))
            _, (call,) = assembler.finish(complete=True)
            assert call.error or call.repaired


def _mutate(data: bytes, chance: random.Random) -> bytes:
    """A few bytes lost, doubled, swapped or replaced, mostly by marks that mean something."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(changed))
        length = chance.choice((1, 1, 2, 8, 40))
        match chance.randrange(4):
            case 0:
                del changed[place : place + length]
            case 1:
                changed[place:place] = changed[place : place + length]
            case 2:
                mark = chance.choice(MARKS)
                changed[place : place + len(mark)] = mark
            case _:
                changed[place] = chance.randrange(256)
        if not changed:
            return b"data: {}"
    return bytes(changed)


MARKS = (
    b'"', b"\\", b"{", b"}", b"\\\"", b"\n", b"\n\n", b"data:", b"null", b"\\ud800", b"\xff",
    b"<tool_call>", b"</tool_call>", b"<function=", b"</parameter>", b"```", b"[DONE]", b"'",
    b"<|tool_call_end|>", b'"index":1', b'"length"', b",", b"[", b"]", b"(", b")",
)  # fmt: skip


@pytest.mark.parametrize("form", STREAMS)
def test_mutated_streams(form: str) -> None:
    make, data = STREAMS[form]
    chance = random.Random(form)
    answered = 0
    for _ in range(MUTATIONS):
        ended, shown, calls = play(make, _mutate(data, chance))
        assert ended or calls == []
        ids = [call.id for call in calls]
        assert len(set(ids)) == len(ids)
        assert all(ids)
        json.dumps([call.arguments for call in calls], ensure_ascii=False).encode()
        shown.encode()
        for call in calls:
            assert call.error is None or call.arguments == {}
            answered += 1
            # No call of a tool that the stream does not name.
            assert call.error or call.name not in ("read_file", "web_search")
    assert answered > MUTATIONS // 20
