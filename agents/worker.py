"""The turns worker: one event loop per process that streams every run it was handed.

Celery's threads only hand runs over (``submit``). The loop streams up to ``HERMES_MAX_STREAMS``
of them; database work goes to a few threads in whole steps; one heartbeat keeps all leases;
shutdown drains and hands back. Figures behind the settings: docs/decisions/0002-durable-turn.md.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

import uvloop
from celery.signals import worker_ready, worker_shutdown
from django.conf import settings

from agents.accounts import configured
from agents.providers.pool import ProviderPool
from agents.services import run_begin, run_hand_back, runs_renew
from agents.services.lease import Lease
from agents.streaming import run_turn
from hermes_site.lib.database import DatabaseThreads
from hermes_site.lib.errors import Interrupted
from hermes_site.lib.publisher import LoopPublisher, Outgoing
from hermes_site.lib.redis import run_channel
from hermes_site.lib.subscriber import Subscriber
from memory.services.event import publish_through
from memory.services.numbering import NUMBERS

log = logging.getLogger(__name__)
T = TypeVar("T")


class Worker:
    """The streaming side of one process. Made on first use, in its own daemon thread."""

    def __init__(self) -> None:
        # Beside a few busy threads the loop must get the interpreter back quickly.
        sys.setswitchinterval(0.0005)
        self.owner = f"{socket.gethostname()}:{os.getpid()}"
        self._slots = threading.BoundedSemaphore(settings.HERMES_MAX_STREAMS)
        self._draining = False
        self._held: dict[UUID, tuple[Lease, asyncio.Task[Any]]] = {}
        self._database = DatabaseThreads()
        self._loop = uvloop.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self._serve, args=(ready,), name="loop", daemon=True).start()
        ready.wait()

    def submit(self, run_id: UUID) -> None:
        """Take a slot (waiting for one when all are taken) and hand the run to the loop."""
        if self._draining:
            return  # the row stays queued; its wake-up is sent again by the sweeper
        self._slots.acquire()
        asyncio.run_coroutine_threadsafe(self._work(run_id), self._loop)

    def drain(self, grace: float) -> None:
        """Let turns end for ``grace`` seconds, then hand the rest back. Blocks."""
        self._draining = True
        asyncio.run_coroutine_threadsafe(self._drain(grace), self._loop).result(grace + 10)

    # --- on the loop ---------------------------------------------------------------------

    def _serve(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._open())
        ready.set()
        self._loop.run_forever()

    async def _open(self) -> None:
        self.providers = ProviderPool()
        self.publisher = LoopPublisher(NUMBERS.add)
        publish_through(self._publish)
        self._subscriber = Subscriber()
        self._tasks = {
            self._loop.create_task(self._heartbeat(), name="heartbeat"),
            self._loop.create_task(self._listen(), name="listen"),
            self._loop.create_task(self._warm(), name="warm"),
        }

    def _publish(self, items: list[Outgoing]) -> None:
        """Take committed events from a database thread."""
        self._loop.call_soon_threadsafe(self.publisher.send, items)

    async def database(self, step: Callable[..., T], *args: Any) -> T:
        """Run one whole service function in a database thread."""
        return await self._database.run(step, *args)

    async def _work(self, run_id: UUID) -> None:
        try:
            work = await self.database(run_begin, run_id, self.owner)
            if work is None:
                return
            task = asyncio.current_task()
            assert task is not None
            self._held[run_id] = (work.lease, task)
            try:
                await run_turn(work, self)
            finally:
                self._held.pop(run_id, None)
        except Interrupted:
            log.info("turn_interrupted run=%s", run_id)
        except asyncio.CancelledError:
            log.info("turn_stopped run=%s", run_id)
        except Exception:
            # The lease runs out and the sweeper sees to the run; the worker lives on.
            log.exception("turn_crashed run=%s", run_id)
        finally:
            self._slots.release()

    async def _warm(self) -> None:
        """Load the SDKs of the configured accounts, so that the first message need not wait."""
        for account in configured().values():
            await self.providers.get(account).warm()

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(settings.HERMES_HEARTBEAT)
            held = {id: lease.fence for id, (lease, _) in self._held.items()}
            if not held:
                continue
            try:
                for id in await self.database(runs_renew, held):
                    self._stop(id)
            except Exception:
                log.exception("heartbeat_failed held=%d", len(held))

    async def _listen(self) -> None:
        def heard(payload: bytes | None) -> None:
            word, _, id = (payload or b"").decode().partition(" ")
            if word == "cancel":
                self._stop(UUID(id))

        await self._subscriber.subscribe(run_channel(), heard)

    def _stop(self, run_id: UUID) -> None:
        if run_id in self._held:
            self._held[run_id][1].cancel()

    async def _drain(self, grace: float) -> None:
        end = self._loop.time() + grace
        while self._held and self._loop.time() < end:
            await asyncio.sleep(0.05)
        left = list(self._held.values())
        for lease, task in left:
            task.cancel()
            await asyncio.wait([task], timeout=2)
            await self.database(run_hand_back, lease)
        log.info("drained handed_back=%d", len(left))
        await self.publisher.flushed(2)
        NUMBERS.flush()


@cache
def worker() -> Worker:
    return Worker()


@worker_ready.connect
def _start_with_worker(sender: Any, **kwargs: Any) -> None:
    """The first run should not wait for the loop to start."""
    if "turns" in sender.app.amqp.queues.consume_from:
        worker()


@worker_shutdown.connect
def _drain_on_shutdown(**kwargs: Any) -> None:
    if worker.cache_info().currsize:
        worker().drain(settings.HERMES_DRAIN)
