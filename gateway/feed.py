"""The live events of one session for one client: the rest after a number, then what comes.

Websocket and SSE are two forms of this. A disconnect never stops a run; a client that is too
slow is dropped and catches up by its number.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from functools import cache
from typing import Any
from uuid import UUID

import redis.asyncio
from django.db.models import Q
from redis.exceptions import RedisError

from accounts.models import User
from agents.choices import OPEN
from agents.models import Run
from gateway.selectors.snapshot import snapshot
from hermes_site.lib import events
from hermes_site.lib.database import in_database
from hermes_site.lib.redis import async_client, stream_key
from hermes_site.lib.subscriber import Subscriber
from memory.models import SessionEvent

log = logging.getLogger(__name__)

# Events that may wait for one client before it is dropped.
MAX_WAITING = 2000


class Lagging(Exception):
    """The client reads too slowly; it comes back with its last number."""


@cache
def hub() -> Subscriber:
    """The one subscription connection of this web process."""
    return Subscriber()


@cache
def _redis() -> redis.asyncio.Redis:
    return async_client()


class Feed:
    """Iterate over ``(seq, event)``; ``after`` is the last number the client has, or None.

    The caller has checked that the session is the user's; the snapshot checks it once more.
    """

    def __init__(self, user: User, session_id: UUID, after: int | None) -> None:
        self._user, self._session = user, session_id
        self._last = after
        self._channel = stream_key(session_id)
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._lagging = False

    async def events(self) -> AsyncGenerator[tuple[int, bytes], None]:
        """Raises ``Lagging`` when the client does not keep up."""
        try:
            await hub().subscribe(self._channel, self._heard)
            async for item in self._catch_up():
                yield item
            while True:
                payload = await self._waiting.get()
                if self._lagging:
                    raise Lagging
                if payload is None:  # the subscription was broken for a while
                    async for item in self._catch_up():
                        yield item
                    continue
                id, _, event = payload.partition(b" ")
                seq = events.seq_of(id)
                if self._last is None or seq > self._last:
                    self._last = seq
                    yield seq, events.with_seq(seq, event)
        finally:
            hub().unsubscribe(self._channel, self._heard)

    def _heard(self, payload: bytes | None) -> None:
        if self._waiting.qsize() >= MAX_WAITING:
            self._lagging = True
        else:
            self._waiting.put_nowait(payload)

    async def _catch_up(self) -> AsyncIterator[tuple[int, bytes]]:
        """What the live tail has after the last number; where it does not reach back that far,
        one snapshot."""
        tail = await self._tail()
        if tail is None:
            seq, data = await in_database(snapshot, self._user, self._session)
            payload = events.encode("session.snapshot", self._session, None, data)
            self._last = seq
            yield seq, events.with_seq(seq, payload)
            tail = await self._after(seq)
        for id, event in tail:
            seq = events.seq_of(id)
            if self._last is None or seq > self._last:
                self._last = seq
                yield seq, events.with_seq(seq, event)

    async def _tail(self) -> list[tuple[bytes, bytes]] | None:
        """The events after the last number, or None when some may be missing."""
        if self._last is None:
            return None
        try:
            oldest: Any = await _redis().xrange(self._channel, count=1)
        except (RedisError, OSError):
            return None
        if not oldest:
            return [] if await in_database(self._quiet_since, self._last) else None
        first = events.seq_of(oldest[0][0])
        covered = first <= self._last or (
            self._last == 0 and await in_database(self._begins_with, first)
        )
        return await self._after(self._last) if covered else None

    def _quiet_since(self, seq: int) -> bool:
        """Whether the client has all of a session whose tail has ended by itself."""
        if Run.objects.for_user(self._user).filter(session=self._session, state__in=OPEN).exists():
            return False
        rows = SessionEvent.objects.filter(session_id=self._session)
        return not rows.filter(Q(seq=None) | Q(seq__gt=seq)).exists()

    def _begins_with(self, seq: int) -> bool:
        """Whether the session's first event is the one with ``seq``; one whose number is not
        written down yet is so young that the tail has it."""
        rows = SessionEvent.objects.filter(session_id=self._session).order_by("id")
        return rows.values_list("seq", flat=True).first() in (None, seq)

    async def _after(self, seq: int) -> list[tuple[bytes, bytes]]:
        try:
            rows: Any = await _redis().xrange(self._channel, min=f"({events.stream_id(seq)}")
        except (RedisError, OSError) as error:
            log.warning("tail_unreadable session=%s error=%s", self._session, error)
            return []
        return [(id, fields[b"e"]) for id, fields in rows]


def parse_after(raw: str | None) -> int | None:
    """The ``after`` of a request: a number, or None when absent. Raises ``ValueError``."""
    if raw is None or raw == "":
        return None
    value = int(raw)
    if not 0 <= value < 2**53:
        raise ValueError(raw)
    return value


def private_event(session_id: UUID, seq: int, type: str, data: dict[str, object]) -> bytes:
    """The answer to a client's own action (``ack``, ``pong``, ``error``), for it alone. It
    carries the last number sent before it, so that it does not move the client's place."""
    return events.with_seq(seq, events.encode(type, session_id, None, data))
