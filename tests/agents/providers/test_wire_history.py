"""P26: whatever the history, what is sent keeps each API's rules."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from agents.providers.base import ChatMessage, ModelRequest, ToolCallPart, ToolResultPart
from agents.wire.blocks import messages_body
from agents.wire.chat import chat_body

HISTORIES = 3000
NAMES = ("read_file", "", "Web Search", "поиск", "x" * 500, "a\x00b", "\ud800")
TEXTS = ("", " ", "hi", "\ud83d", "ok \n", "日本", '{"a":1}', "<tool_call>")
VALUES: tuple[Any, ...] = (1, None, "\ud800", 10**25, [1.5, {"k": "v"}], {"": ""}, True)


def _history(chance: random.Random) -> tuple[ChatMessage, ...]:
    """Any sequence that rows can hold: every call with its result, ids as models give them."""
    messages = []
    for _ in range(chance.randint(1, 8)):
        if chance.random() < 0.5:
            messages.append(ChatMessage("user", chance.choice(TEXTS)))
            continue
        ids = chance.sample(["call_0", "call_1", "functions.f:0", "é", "i" * 200], 3)
        calls = tuple(
            ToolCallPart(id_, chance.choice(NAMES), {"v": chance.choice(VALUES)})
            for id_ in ids[: chance.randint(0, 3)]
        )
        results = tuple(ToolResultPart(c.id, c.name, chance.choice(TEXTS)) for c in calls)
        messages.append(ChatMessage("assistant", chance.choice(TEXTS), calls, results))
    messages.append(ChatMessage("user", "go on"))
    # A compaction or a switch of models may begin anywhere.
    return tuple(messages[chance.randrange(len(messages)) :])


def _check_chat(body: dict[str, Any]) -> None:
    waiting: list[str] = []
    seen: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert waiting == []
        assert message["role"] in ("system", "user", "assistant")
        assert isinstance(message["content"], str)
        assert message["content"] or message.get("tool_calls")
        for call in message.get("tool_calls", []):
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert 0 < len(call["id"]) <= 40
            assert call["id"] not in seen
            seen.add(call["id"])
            waiting.append(call["id"])
    assert waiting == []


def _check_messages(body: dict[str, Any]) -> None:
    messages = body["messages"]
    assert messages[0]["role"] == "user"
    seen: set[str] = set()
    for place, message in enumerate(messages):
        assert message["role"] == ("user", "assistant")[place % 2]
        assert message["content"]
        uses, results = [], []
        for block in message["content"]:
            if block["type"] == "text":
                assert block["text"].strip()
            elif block["type"] == "tool_use":
                assert message["role"] == "assistant"
                assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", block["name"])
                assert re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"])
                assert isinstance(block["input"], dict)
                uses.append(block["id"])
            else:
                assert block["content"]
                results.append(block["tool_use_id"])
        assert not seen & set(uses)
        seen |= set(uses)
        before = messages[place - 1]["content"] if place else []
        asked = [block["id"] for block in before if block["type"] == "tool_use"]
        assert results == (asked if message["role"] == "user" else [])
        # Results stand before any text of the same message.
        kinds = [block["type"] for block in message["content"]]
        assert kinds[: len(results)] == ["tool_result"] * len(results)
        if uses:
            assert place + 1 < len(messages)


@pytest.mark.parametrize(
    ("layout", "check"), [(chat_body, _check_chat), (messages_body, _check_messages)]
)
def test_random_histories(layout: Any, check: Any) -> None:
    chance = random.Random(26)
    for _ in range(HISTORIES):
        request = ModelRequest("m", "s", _history(chance))
        body = layout(request)
        check(body)
        json.dumps(body, ensure_ascii=False).encode()
        assert layout(request) == body
