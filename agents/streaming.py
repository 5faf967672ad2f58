"""One turn on the worker's loop: from the lease to the saved answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from django.conf import settings

from agents.loop import Answer, Listener, TurnFailed, TurnLimits, turn
from agents.providers.base import ModelError
from agents.providers.pool import ProviderPool
from agents.services import turn_failed, turn_save
from agents.services.lease import Work
from hermes_site.lib import events
from hermes_site.lib.errors import LimitReached
from hermes_site.lib.publisher import LiveText, LoopPublisher, Outgoing

log = logging.getLogger(__name__)
T = TypeVar("T")


class Streaming(Protocol):
    """What a turn needs of the worker."""

    publisher: LoopPublisher
    providers: ProviderPool

    def database(self, step: Callable[..., T], *args: Any) -> Awaitable[T]: ...


async def run_turn(work: Work, host: Streaming) -> None:
    """Stream the model and save what it gave. Raises ``Interrupted`` when the lease was lost."""
    lease = work.lease
    if work.direct:
        await host.database(turn_save, lease, work.direct, "")
        return
    if work.error or work.choice is None or work.request is None:
        code = work.error.code if work.error else "internal"
        message = work.error.message if work.error else "The turn could not be prepared."
        await host.database(turn_failed, lease, code, message, Answer(), "")
        return
    limits = TurnLimits(steps=settings.HERMES_MAX_STEPS)
    listener = _Publishing(work, host)
    label = work.choice.label
    try:
        provider = host.providers.get(work.choice.account)
        answer = await turn(provider, work.request, work.state, limits, listener)
    except TurnFailed as failed:
        error = failed.error
        await _save(host, turn_failed, lease, error.code, error.message, failed.partial, label)
    except LimitReached as reached:
        await _save(
            host, turn_failed, lease, reached.code, reached.message, listener.answer(), label
        )
    else:
        await _save(host, turn_save, lease, answer, label)


async def _save(host: Streaming, step: Callable[..., None], *args: Any) -> None:
    """Saving is one step: a cancelled turn still lets it end, events and all."""
    await asyncio.shield(asyncio.ensure_future(host.database(step, *args)))


class _Publishing(Listener):
    """Turns what the loop tells into events."""

    def __init__(self, work: Work, host: Streaming) -> None:
        self._run, self._fence, self._host = work.lease.run, work.lease.fence, host
        # A worker that took over a dead one's run begins the answer again.
        self._first = work.lease.attempt
        self._message = str(self._run.answer_id)
        self._live = LiveText(self._run.answer_id, self._fence)

    def answer(self) -> Answer:
        return Answer(text=self._live.text)

    def started(self, attempt: int) -> None:
        self._live = LiveText(self._run.answer_id, self._fence)
        count = self._first + attempt - 1
        started = events.MessageStarted(message=self._message, attempt=count)
        self._send(started, live=self._live, begins=True)

    def text(self, text: str) -> None:
        run, live = self._run, self._live
        live.text += text
        # As ``MessageDelta`` has it; the publisher fills in the offset when it sends.
        data: dict[str, object] = {"message": self._message, "text": text, "offset": 0}
        delta = Outgoing(run.session_id, run.pk, events.MessageDelta.type, data, live=live)
        self._host.publisher.send([delta])

    def reasoning(self, text: str) -> None:
        self._send(events.ReasoningDelta(message=self._message, text=text))

    def retrying(self, error: ModelError, wait: float) -> None:
        run = self._run
        log.warning("model_retry run=%s code=%s wait=%.1f", run.pk, error.code, wait)
        message = f"{error.message} Trying again in {wait:.0f} s."
        self._send(events.Trouble(code=error.code, message=message))

    def _send(self, event: events.Event, **more: Any) -> None:
        run = self._run
        self._host.publisher.send(
            [Outgoing(run.session_id, run.pk, event.type, event.data(), **more)]
        )
