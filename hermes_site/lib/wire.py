"""A bare asyncio connection to Redis: packed commands out, replies in order.

redis-py's asyncio client costs several times more per command than everything else on a token's
way. Only the two hot paths use this: publishing (``request``) and subscribing (``on_push``).
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import hiredis
from django.conf import settings
from redis.asyncio.connection import parse_url

Command = Sequence[bytes | str | int]
# Its published type takes one-word commands only.
pack: Callable[[tuple[bytes | str | int, ...]], bytes] = hiredis.pack_command  # type: ignore[assignment]


class Wire(asyncio.Protocol):
    """``request`` for commands with answers; with ``on_push`` every reply goes there instead."""

    def __init__(self, on_push: Callable[[Any], None] | None = None) -> None:
        self._on_push = on_push
        self._reader = hiredis.Reader()
        self._transport: asyncio.Transport | None = None
        self._expected: deque[tuple[asyncio.Future[list[Any]], list[Any], int]] = deque()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            if self._on_push is not None:
                self._on_push(reply)
            else:
                self._answer(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)
        for future, _, _ in self._expected:
            if not future.done():
                future.set_exception(ConnectionResetError("Redis closed the connection"))
        self._expected.clear()

    def send(self, *commands: Command) -> None:
        """Write commands whose answers nobody waits for (or that ``on_push`` takes)."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the connection to Redis is closed")
        self._transport.write(b"".join([pack(tuple(command)) for command in commands]))

    async def request(self, commands: Sequence[Command], *, timeout: float) -> list[Any]:
        """The replies to a pipeline; an error is a ``hiredis.ReplyError`` in its place.

        Raises ``OSError`` when the connection breaks or the time is over: it is then closed,
        since later replies would be taken for earlier ones.
        """
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self.send(*commands)
        self._expected.append((future, [], len(commands)))
        try:
            async with asyncio.timeout(timeout):
                return await future
        except TimeoutError as error:
            self.close()
            raise OSError("Redis did not answer in time") from error

    def _answer(self, reply: Any) -> None:
        future, replies, wanted = self._expected[0]
        replies.append(reply)
        if len(replies) == wanted:
            self._expected.popleft()
            if not future.done():
                future.set_result(replies)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


async def connect(on_push: Callable[[Any], None] | None = None) -> Wire:
    """Open and authenticate a connection to ``REDIS_URL``. Raises ``OSError``."""
    options: dict[str, Any] = dict(parse_url(settings.REDIS_URL))
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(2):
        if "path" in options:
            _, wire = await loop.create_unix_connection(lambda: Wire(on_push), options["path"])
        else:
            secure = "SSL" in getattr(options.get("connection_class"), "__name__", "")
            host, port = options.get("host", "localhost"), options.get("port", 6379)
            context = ssl.create_default_context() if secure else None
            _, wire = await loop.create_connection(lambda: Wire(on_push), host, port, ssl=context)
    greeting = _greeting(options)
    if greeting and on_push is not None:
        wire.send(*greeting)
    elif greeting:
        for reply in await wire.request(greeting, timeout=2):
            if isinstance(reply, hiredis.ReplyError):
                raise OSError(f"Redis refused: {reply}")
    return wire


def _greeting(options: dict[str, Any]) -> list[Command]:
    commands: list[Command] = []
    if options.get("password"):
        commands.append(["AUTH", options.get("username") or "default", options["password"]])
    if options.get("db"):
        commands.append(["SELECT", options["db"]])
    return commands
