"""Publishing events: one Lua call per event, everything that waits in one pipeline.

``publish`` is for processes without an event loop; ``LoopPublisher`` for the one that streams.
Both give Redis the same script, and Redis gives each event its number.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import hiredis
import redis
from redis.exceptions import NoScriptError, RedisError

from hermes_site.lib import events
from hermes_site.lib.redis import (
    STREAM_TTL,
    client,
    fence_key,
    partial_key,
    stream_key,
)
from hermes_site.lib.wire import Wire, connect

log = logging.getLogger(__name__)

# Seconds that one pipeline may take.
TIMEOUT = 5

# From so many events a second on, events gather for so many seconds before they are sent: each
# pipeline wakes this process, Redis and the web processes once, which by then is most of the cost.
_BUSY = 2000
_WINDOW = 0.003

# The live tail that one session may hold, in events.
MAX_TAIL = 3000

# A stale worker's delta is refused by the fence, which the event that begins an answer sets. The
# text so far is kept beside the stream; a length that does not fit (Redis lost it) answers
# 'resync', and the sender sets it whole.
_SCRIPT = f"""
local stream, fence, partial = KEYS[1], KEYS[2], KEYS[3]
if ARGV[2] ~= '' then
  local newest = redis.call('GET', fence)
  if newest and tonumber(newest) > tonumber(ARGV[2]) then return {{'stale', ''}} end
  if ARGV[6] == '1' then
    redis.call('SET', fence, ARGV[2], 'EX', {STREAM_TTL})
    redis.call('DEL', partial)
  end
end
local kept = 'ok'
if ARGV[3] ~= '' then
  if redis.call('STRLEN', partial) ~= tonumber(ARGV[4]) then kept = 'resync'
  else
    redis.call('APPEND', partial, ARGV[3])
    if ARGV[4] == '0' then redis.call('EXPIRE', partial, {STREAM_TTL}) end
  end
end
local id = redis.call('XADD', stream, 'MAXLEN', '~', {MAX_TAIL}, '*', 'e', ARGV[1])
if ARGV[5] == '1' or redis.call('XLEN', stream) == 1 then
  redis.call('EXPIRE', stream, {STREAM_TTL})
end
redis.call('PUBLISH', stream, id .. ' ' .. ARGV[1])
return {{kept, id}}
"""


@dataclass
class LiveText:
    """The answer of one message as it grows. ``chars`` and ``bytes`` count what was sent."""

    message_id: UUID
    fence: int
    text: str = ""
    chars: int = 0
    bytes: int = 0


@dataclass
class Outgoing:
    """An event on its way. ``row`` is its id in the outbox (None for deltas); a delta of an
    answer carries its ``live`` text, so that neighbours can merge and Redis can be refilled.
    The event before the first delta ``begins`` it: from then on older workers are refused."""

    session_id: UUID
    run_id: UUID | None
    type: str
    data: dict[str, object]
    at: str = ""
    row: int | None = None
    live: LiveText | None = None
    begins: bool = False

    def arguments(self) -> list[bytes | str | int]:
        """Keys and arguments of the script."""
        live, text = self.live, b""
        if live and not self.begins:
            text = str(self.data["text"]).encode()
        return [
            stream_key(self.session_id),
            fence_key(self.session_id, self.run_id or ""),
            partial_key(self.session_id, live.message_id if live else ""),
            events.encode(self.type, self.session_id, self.run_id, self.data, self.at),
            str(live.fence) if live else "",
            text,
            live.bytes if live else 0,
            "1" if self.row is not None else "0",
            "1" if self.begins else "0",
        ]


def publish(outgoing: list[Outgoing]) -> dict[int, int]:
    """Number and send durable events; returns ``{row: seq}``. Raises ``RedisError``."""
    connection = client()
    for attempt in (1, 2):
        sha = connection.script_load(_SCRIPT) if attempt == 2 else _sha(connection)
        pipe = connection.pipeline(transaction=False)
        for item in outgoing:
            pipe.evalsha(sha, 3, *item.arguments())
        try:
            answers = pipe.execute()
        except NoScriptError:
            continue
        return {
            item.row: events.seq_of(answer[1])
            for item, answer in zip(outgoing, answers, strict=True)
            if item.row is not None
        }
    raise RedisError("the publish script could not be loaded")


_SHAS: dict[int, str] = {}


def _sha(connection: redis.Redis) -> str:
    key = id(connection)
    if key not in _SHAS:
        _SHAS[key] = str(connection.script_load(_SCRIPT))
    return _SHAS[key]


class LoopPublisher:
    """Sends a process's events from its event loop, in order.

    While one pipeline is in flight the next one fills, and neighbouring deltas of an answer
    merge; only a busy process waits a moment longer. With Redis away events wait here, merged.
    ``on_numbered`` gets ``{row: seq}`` of the durable events of each batch.
    """

    def __init__(self, on_numbered: Callable[[dict[int, int]], None]) -> None:
        self._waiting: list[Outgoing] = []
        self._more = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._wire: Wire | None = None
        self._sha = ""
        self._on_numbered = on_numbered
        self._busy, self._counted, self._since = False, 0, 0.0
        self._task = asyncio.create_task(self._run(), name="publisher")

    def send(self, items: Iterable[Outgoing]) -> None:
        """Queue events; call from the loop's own thread."""
        for item in items:
            last = self._waiting[-1] if self._waiting else None
            if item.live and last is not None and last.live is item.live and last.type == item.type:
                last.data = {**last.data, "text": f"{last.data['text']}{item.data['text']}"}
            else:
                self._waiting.append(item)
        self._idle.clear()
        self._more.set()

    async def flushed(self, timeout: float) -> None:
        """Wait until everything queued has been sent, at most ``timeout`` seconds."""
        try:
            await asyncio.wait_for(self._idle.wait(), timeout)
        except TimeoutError:
            log.warning("publisher_not_flushed waiting=%d", len(self._waiting))

    async def close(self) -> None:
        self._task.cancel()
        if self._wire:
            self._wire.close()

    async def _run(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            batch, self._waiting = self._waiting, []
            self._count(len(batch))
            delay = 0.1
            while batch:
                try:
                    await self._send(batch)
                    batch = []
                except (RedisError, OSError, TimeoutError) as error:
                    if self._wire:
                        self._wire.close()
                    log.warning("publish_failed waiting=%d error=%s", len(batch), error)
                    await asyncio.sleep(delay)
                    delay = min(delay * 2, 2.0)
            if not self._waiting:
                self._idle.set()
            if self._busy:
                await asyncio.sleep(_WINDOW)

    def _count(self, events: int) -> None:
        """Keep in mind how many events a second there are, a tenth of a second at a time."""
        now = asyncio.get_running_loop().time()
        self._counted += events
        if (span := now - self._since) >= 0.1:
            self._busy = self._counted / span > _BUSY
            self._counted, self._since = 0, now

    async def _send(self, batch: list[Outgoing]) -> None:
        wire = await self._ready()
        commands, sent = [], []
        for item in batch:
            live = None if item.begins else item.live
            # The delta's place is fixed now: merging may have made it longer since it was queued.
            if live:
                item.data["offset"] = live.chars
            commands.append(["EVALSHA", self._sha, 3, *item.arguments()])
            if live:
                text = str(item.data["text"])
                sent.append((live, live.chars, live.bytes))
                live.chars += len(text)
                live.bytes += len(text.encode())
        try:
            answers = await wire.request(commands, timeout=TIMEOUT)
            _raise_first(answers)
        except (RedisError, OSError):
            for live, chars, size in reversed(sent):
                live.chars, live.bytes = chars, size
            raise
        await self._after(wire, batch, answers)

    async def _ready(self) -> Wire:
        """The connection, opened anew when it broke, with the script loaded."""
        if self._wire is None or self._wire.closed.done():
            self._wire = await connect()
            (sha,) = await self._wire.request([["SCRIPT", "LOAD", _SCRIPT]], timeout=TIMEOUT)
            self._sha = sha.decode()
        return self._wire

    async def _after(self, wire: Wire, batch: list[Outgoing], answers: list[list[bytes]]) -> None:
        numbered: dict[int, int] = {}
        for item, (kept, id) in zip(batch, answers, strict=True):
            if kept == b"resync" and item.live:
                text = item.live.text.encode()[: item.live.bytes]
                key = partial_key(item.session_id, item.live.message_id)
                await wire.request([["SET", key, text, "EX", STREAM_TTL]], timeout=TIMEOUT)
            if item.row is not None and id:
                numbered[item.row] = events.seq_of(id)
        if numbered:
            self._on_numbered(numbered)


def _raise_first(answers: list[Any]) -> None:
    """A lost script is loaded again with the next connection."""
    for answer in answers:
        if isinstance(answer, hiredis.ReplyError):
            raise RedisError(str(answer))
