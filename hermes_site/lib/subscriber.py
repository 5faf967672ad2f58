"""One SUBSCRIBE connection per web process, shared by all of its sockets.

The payload bytes are handed on undecoded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from hermes_site.lib.wire import Wire, connect

log = logging.getLogger(__name__)

# Called with the payload, or with None when messages may have been missed.
Listener = Callable[[bytes | None], None]


class Subscriber:
    """Delivers what is published on channels to listeners, and reconnects by itself.

    After a reconnect every listener is called with None: it must catch up from the stream.
    """

    def __init__(self) -> None:
        self._listeners: dict[bytes, set[Listener]] = defaultdict(set)
        self._confirmed: dict[bytes, asyncio.Event] = {}
        self._seen: set[bytes] = set()
        self._wire: Wire | None = None
        self._task: asyncio.Task[None] | None = None

    async def subscribe(self, channel: str, listener: Listener, *, timeout: float = 2.0) -> bool:
        """Deliver ``channel`` to ``listener``; returns whether Redis has confirmed it in time.
        Unconfirmed, the listener is still kept and will be called with None later."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="subscriber")
        key = channel.encode()
        self._listeners[key].add(listener)
        if key not in self._confirmed:
            self._confirmed[key] = asyncio.Event()
            if self._wire:
                self._wire.send((b"SUBSCRIBE", key))
        try:
            await asyncio.wait_for(self._confirmed[key].wait(), timeout)
        except TimeoutError:
            self._seen.add(key)  # so that the late confirmation tells the listener to catch up
            return False
        return True

    def unsubscribe(self, channel: str, listener: Listener) -> None:
        key = channel.encode()
        self._listeners[key].discard(listener)
        if not self._listeners[key]:
            del self._listeners[key]
            self._confirmed.pop(key, None)
            self._seen.discard(key)
            if self._wire:
                self._wire.send((b"UNSUBSCRIBE", key))

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
        if self._wire:
            self._wire.close()

    async def _run(self) -> None:
        delay = 0.1
        while True:
            try:
                self._wire = await connect(self._received)
                if self._confirmed:
                    self._wire.send((b"SUBSCRIBE", *self._confirmed))
                delay = 0.1
                await self._wire.closed
            except (OSError, TimeoutError) as error:
                log.warning("subscriber_unreachable error=%s", error)
            self._wire = None
            for event in self._confirmed.values():
                event.clear()
            await asyncio.sleep(delay)
            delay = min(delay * 2, 1.0)

    def _received(self, reply: Any) -> None:
        if not isinstance(reply, list) or len(reply) < 3:
            return
        kind, channel, payload = reply[0], reply[1], reply[2]
        if kind == b"message":
            for listener in tuple(self._listeners.get(channel, ())):
                listener(payload)
        elif kind == b"subscribe" and channel in self._confirmed:
            self._confirmed[channel].set()
            if channel in self._seen:
                for listener in tuple(self._listeners.get(channel, ())):
                    listener(None)
            self._seen.add(channel)
