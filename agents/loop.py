"""One turn of the agent: the model is asked, its answer streamed, its calls collected.

This file knows no Django, no rows and no queues: a model, messages, tools, limits and an
``emit``. A run is turns until the model asks for no more tools. What to do with the calls, and
when the next turn comes, is the caller's business (``agents.services.turn``).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from agents.calls import CallAssembler
from agents.providers.base import (
    Finish,
    ModelError,
    ModelRequest,
    Part,
    Provider,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallPart,
    Usage,
)
from hermes_site.lib.errors import LimitReached


@dataclass(frozen=True)
class TurnLimits:
    """Caps of a run. ``repeats``: the same call this many turns in a row ends it; ``attempts``
    counts model calls per turn; ``backoff`` is the first wait in seconds, doubled each time;
    ``answer`` is the most characters of text and reasoning that are read of one answer."""

    steps: int = 50
    repeats: int = 3
    attempts: int = 4
    backoff: float = 1.0
    longest_wait: float = 30.0
    answer: int = 400_000


@dataclass(frozen=True)
class TurnState:
    """Where the run stands: turns done, and the calls of the last turns, newest last, each turn
    as one comparable text."""

    step: int = 0
    recent_calls: tuple[str, ...] = ()


@dataclass
class Answer:
    """What one turn gave. ``text`` is what the user sees, without the markup of calls."""

    text: str = ""
    reasoning: str = ""
    calls: list[ToolCallPart] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    finish: str = ""


class Listener:
    """What the caller hears while the turn goes on. All are called from the event loop and must
    not block."""

    def started(self, attempt: int) -> None:
        """An answer begins; with ``attempt`` above 1 the text before is void."""

    def text(self, text: str) -> None: ...

    def reasoning(self, text: str) -> None: ...

    def retrying(self, error: ModelError, wait: float) -> None: ...


class TurnFailed(Exception):
    """The model gave no usable answer; ``partial`` is what had been streamed."""

    def __init__(self, error: ModelError, partial: Answer) -> None:
        super().__init__(error.message)
        self.error, self.partial = error, partial


async def turn(
    provider: Provider,
    request: ModelRequest,
    state: TurnState,
    limits: TurnLimits,
    listener: Listener,
    sleep: Callable[[float], object] = asyncio.sleep,
) -> Answer:
    """Ask the model once, again with back-off where that can help.

    Raises ``LimitReached`` when a cap of the run is hit and ``TurnFailed`` when the model
    cannot be made to answer.
    """
    if state.step >= limits.steps:
        raise LimitReached("too_many_steps", f"Stopped after {limits.steps} steps.")
    for attempt in range(1, limits.attempts + 1):
        answer = Answer()
        listener.started(attempt)
        try:
            await _ask(provider, request, answer, limits, listener)
            _check_repeats(answer, state, limits)
            return answer
        except ModelError as error:
            if not error.retry or attempt == limits.attempts:
                raise TurnFailed(error, answer) from error
            wait = _wait(error, attempt, limits)
            listener.retrying(error, wait)
            await sleep(wait)  # type: ignore[misc]
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _ask(
    provider: Provider,
    request: ModelRequest,
    answer: Answer,
    limits: TurnLimits,
    listener: Listener,
) -> None:
    """Stream one answer into ``answer``; one without end is cut off. Raises ``ModelError``."""
    assembler = CallAssembler({str(tool["name"]) for tool in request.tools})
    async with aclosing(provider.stream(request)) as parts:
        async for part in parts:
            _take(part, answer, assembler, listener)
            if len(answer.text) + len(answer.reasoning) > limits.answer:
                answer.finish = "length"
                break
    # A call that was still being written when the answer was cut off must not run.
    cut_off = answer.finish in ("length", "refusal")
    rest, answer.calls = assembler.finish(complete=bool(answer.finish), limited=cut_off)
    _show(rest, answer, listener)
    if not answer.finish:
        raise ModelError("cut", "The model's answer broke off.", retry=True)
    if not answer.text.strip() and not answer.calls:
        raise ModelError("empty", "The model gave an empty answer.", retry=True)


def _take(part: Part, answer: Answer, assembler: CallAssembler, listener: Listener) -> None:
    match part:
        case TextDelta(text):
            _show(assembler.text(text), answer, listener)
        case ToolCallDelta():
            assembler.delta(part)
        case ReasoningDelta(text):
            answer.reasoning += text
            listener.reasoning(text)
        case Usage():
            answer.usage = part
        case Finish(reason):
            answer.finish = reason


def _show(text: str, answer: Answer, listener: Listener) -> None:
    if text:
        answer.text += text
        listener.text(text)


def _check_repeats(answer: Answer, state: TurnState, limits: TurnLimits) -> None:
    """An agent that asks for the same again and again will not stop by itself."""
    asked = signature(answer.calls)
    before = state.recent_calls[-(limits.repeats - 1) :]
    if asked and len(before) == limits.repeats - 1 and set(before) == {asked}:
        names = ", ".join(sorted({call.name for call in answer.calls}))
        raise LimitReached(
            "repeated_calls",
            f"Stopped: the model asked for the same call ({names}) {limits.repeats} times.",
        )


def signature(calls: list[ToolCallPart]) -> str:
    """The calls of a turn as one comparable text."""
    return (
        repr([(call.name, sorted(call.arguments.items(), key=str)) for call in calls])
        if calls
        else ""
    )


def _wait(error: ModelError, attempt: int, limits: TurnLimits) -> float:
    """Seconds to wait: what the API asked for, else doubling with jitter."""
    if error.retry_after is not None:
        return min(error.retry_after, limits.longest_wait)
    doubled = limits.backoff * 2 ** (attempt - 1)
    jitter = random.uniform(0.5, 1.0)  # noqa: S311
    return float(min(doubled, limits.longest_wait) * jitter)
