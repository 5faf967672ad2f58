"""One turn against a model server that misbehaves: what is tried again, and what is said."""

from __future__ import annotations

from typing import Any

import pytest

from agents.loop import Answer, Listener, TurnFailed, TurnLimits, TurnState, signature, turn
from agents.providers.base import Account, ChatMessage, ModelError, ModelRequest, ToolCallPart
from agents.registry import PROVIDERS
from hermes_site.lib.errors import LimitReached
from tests.fakes.scripted_llm import ScriptedLLM, calls, cut, empty, status, text

TOOLS = ({"name": "look", "description": "Look.", "parameters": {"type": "object"}},)
OVERFLOW = {"error": {"message": "maximum context length is 10", "code": "context_length_exceeded"}}


class Heard(Listener):
    def __init__(self) -> None:
        self.said: list[Any] = []

    def started(self, attempt: int) -> None:
        self.said.append(attempt)

    def text(self, text: str) -> None:
        self.said.append(text)

    def retrying(self, error: ModelError, wait: float) -> None:
        self.said.append(error.code)


@pytest.fixture(params=["openai", "anthropic"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def ask(
    kind: str, *steps: Any, state: TurnState | None = None, limits: TurnLimits | None = None
) -> tuple[Answer, Heard]:
    heard, waits = Heard(), []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    with ScriptedLLM(*steps, strict=True) as llm:
        url = llm.openai_url if kind == "openai" else llm.anthropic_url
        provider_class = PROVIDERS.get(kind)
        assert provider_class is not None
        provider = provider_class(Account("x", kind, "key-canary", url))
        request = ModelRequest("m", "Be good.", (ChatMessage("user", "hi"),), TOOLS)
        try:
            answer = await turn(
                provider, request, state or TurnState(), limits or TurnLimits(), heard, sleep
            )
        finally:
            await provider.close()
    return answer, heard


async def test_an_answer_streams(kind: str) -> None:
    answer, heard = await ask(kind, text("Hello there.", size=5))
    assert (answer.text, answer.finish) == ("Hello there.", "stop")
    assert heard.said == [1, "Hello", " ther", "e."]


async def test_calls_come_with_their_arguments(kind: str) -> None:
    answer, _ = await ask(kind, calls([("look", {"at": "sky"}), ("look", {"at": "sea"})]))
    assert [(c.name, c.arguments) for c in answer.calls] == [
        ("look", {"at": "sky"}),
        ("look", {"at": "sea"}),
    ]
    assert len({c.id for c in answer.calls}) == 2


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (status(429, {"retry-after": "7"}), "rate_limited"),
        (status(500), "overloaded"),
        (status(503), "overloaded"),
        (cut(after=200), "cut"),
        (empty(), "empty"),
    ],
)
async def test_what_may_pass_is_tried_again(kind: str, bad: Any, code: str) -> None:
    answer, heard = await ask(kind, bad, text("Now."))
    assert answer.text == "Now."
    assert [said for said in heard.said if said in (1, 2, code)] == [1, code, 2]


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (status(401), "auth"),
        (status(403), "auth"),
        (status(404), "not_found"),
        (status(400, None, OVERFLOW), "context_overflow"),
        (status(400), "bad_request"),
    ],
)
async def test_what_will_not_pass_ends_the_turn_at_once(kind: str, bad: Any, code: str) -> None:
    with pytest.raises(TurnFailed) as failed:
        await ask(kind, bad)
    assert failed.value.error.code == code
    assert "key-canary" not in failed.value.error.message


async def test_a_provider_that_stays_down_is_given_up_with_what_was_streamed(kind: str) -> None:
    limits = TurnLimits(attempts=3)
    with pytest.raises(TurnFailed) as failed:
        await ask(kind, status(500), status(500), cut(after=900), limits=limits)
    assert failed.value.error.code == "cut"
    assert failed.value.partial.text.startswith("word ")


async def test_nobody_there(kind: str) -> None:
    provider_class = PROVIDERS.get(kind)
    assert provider_class is not None
    provider = provider_class(Account("x", kind, "k", "http://127.0.0.1:9/v1"))
    request = ModelRequest("m", "s", (ChatMessage("user", "hi"),))

    async def sleep(seconds: float) -> None: ...

    with pytest.raises(TurnFailed) as failed:
        await turn(provider, request, TurnState(), TurnLimits(attempts=2), Heard(), sleep)
    await provider.close()
    assert failed.value.error.code == "unreachable"


async def test_the_third_same_call_in_a_row_ends_the_run(kind: str) -> None:
    again = signature([ToolCallPart("x", "look", {"at": "sky"})])
    step = calls([("look", {"at": "sky"})])
    answer, _ = await ask(kind, step, state=TurnState(1, (again,)))
    assert len(answer.calls) == 1
    with pytest.raises(LimitReached) as reached:
        await ask(kind, step, state=TurnState(2, (again, again)))
    assert reached.value.code == "repeated_calls"
    other = signature([ToolCallPart("x", "look", {"at": "sea"})])
    answer, _ = await ask(kind, step, state=TurnState(3, (again, other)))
    assert len(answer.calls) == 1


async def test_steps_are_capped_before_the_model_is_asked(kind: str) -> None:
    with pytest.raises(LimitReached) as reached:
        await ask(kind, state=TurnState(step=50))
    assert (reached.value.code, reached.value.message) == (
        "too_many_steps",
        "Stopped after 50 steps.",
    )


async def test_an_answer_without_end_is_cut_off(kind: str) -> None:
    answer, heard = await ask(kind, text("word " * 50_000), limits=TurnLimits(answer=1000))
    assert answer.finish == "length"
    assert 1000 < len(answer.text) < 250_001
    assert "".join(said for said in heard.said if isinstance(said, str)) == answer.text
