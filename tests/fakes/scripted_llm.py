"""A model server that plays a script, one step a request, in both wire formats.

    with ScriptedLLM(calls([("read_file", {"path": "a"})]), text("Done."), strict=True) as llm:
        provider = OpenAIProvider(Account("fake", "openai", "key", llm.openai_url))

It runs in a thread of its own and records each request. A strict one fails the test on a request
too many and on steps left over.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from tests.fakes.llm_wire import (
    Call,
    anthropic_answer,
    anthropic_events,
    dumps,
    openai_answer,
    openai_events,
)


@dataclass(frozen=True)
class Recorded:
    """One request: ``body`` decoded, ``raw`` as it came, header names in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes


class Exchange:
    """One request being answered."""

    def __init__(self, request: Recorded, writer: asyncio.StreamWriter) -> None:
        self.request, self._writer = request, writer
        self.anthropic = request.path.endswith("/messages")

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._writer.write(f"HTTP/1.1 {status} -\r\n{lines}\r\n".encode())

    def stream_head(self, kind: str = "text/event-stream") -> None:
        self.head(200, {"content-type": kind, "transfer-encoding": "chunked"})

    async def write(self, data: bytes) -> None:
        """One chunk, flushed, so that the client may read it by itself."""
        self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self._writer.drain()
        await asyncio.sleep(0)

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def whole(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        kind = {"content-type": "application/json", "content-length": str(len(body))}
        self.head(status, kind | dict(headers))
        self._writer.write(body)
        await self._writer.drain()

    def abort(self) -> None:
        self._writer.transport.abort()

    def events(self, text: str, made: list[Call], finish: str, size: int) -> list[bytes]:
        return (anthropic_events if self.anthropic else openai_events)(text, made, finish, size)


Step = Callable[[Exchange], Awaitable[None]]


def text(content: str, *, size: int = 8, finish: str = "", pause: float = 0) -> Step:
    """Answer with text; ``finish`` in the words of the wire format, ``pause`` s a fragment."""
    return calls([], text=content, size=size, finish=finish, pause=pause)


def calls(
    made: list[Call], *, text: str = "", size: int = 8, finish: str = "", pause: float = 0
) -> Step:
    """Call tools, all in one answer, after ``text``."""

    async def play(exchange: Exchange) -> None:
        if not exchange.request.body.get("stream"):
            whole = anthropic_answer if exchange.anthropic else openai_answer
            await exchange.whole(200, {}, dumps(whole(text, made)))
            return
        exchange.stream_head()
        for event in exchange.events(text, made, finish, size):
            await exchange.write(event)
            await asyncio.sleep(pause)
        await exchange.end()

    return play


def empty() -> Step:
    """A well-formed answer with nothing in it."""
    return text("")


def raw_sse(data: bytes, *, chunk: int = 0, kind: str = "text/event-stream") -> Step:
    """Exactly these bytes, ``chunk`` bytes at a time (0: at once)."""

    async def play(exchange: Exchange) -> None:
        exchange.stream_head(kind)
        step = chunk or max(1, len(data))
        for start in range(0, len(data), step):
            await exchange.write(data[start : start + step])
        await exchange.end()

    return play


def status(code: int, headers: Mapping[str, str] | None = None, body: object = None) -> Step:
    """Refuse with an HTTP status; ``body`` is JSON, a plausible error if not given."""
    content = {"error": {"message": "scripted", "type": "scripted"}} if body is None else body

    async def play(exchange: Exchange) -> None:
        await exchange.whole(code, headers or {}, dumps(content))

    return play


def cut(after: int, *, content: str = "word " * 40, made: list[Call] | None = None) -> Step:
    """Break the connection ``after`` so many bytes of the answer's stream."""

    async def play(exchange: Exchange) -> None:
        exchange.stream_head()
        data = b"".join(exchange.events(content, made or [], "", 8))[:after]
        if data:
            await exchange.write(data)
        # What was written shall arrive before the break.
        await asyncio.sleep(0.02)
        exchange.abort()

    return play


def hang(seconds: float, *, head: bool = True) -> Step:
    """Say nothing (with ``head`` only the headers), then break the connection."""

    async def play(exchange: Exchange) -> None:
        if head:
            exchange.stream_head()
        await asyncio.sleep(seconds)
        exchange.abort()

    return play


class ScriptedLLM:
    """The server; ``requests`` are the recorded ones. When the script is over, a strict server
    answers 500 and fails at the end; another one says ``after``."""

    def __init__(self, *steps: Step, strict: bool = False, after: str = "Done.") -> None:
        self._steps = list(steps)
        self._strict, self._after = strict, after
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.requests: list[Recorded] = []
        self.extra: list[Recorded] = []
        self.failures: list[BaseException] = []
        self.port = 0
        self.connections = 0

    @property
    def openai_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    @property
    def left(self) -> int:
        """Steps not played yet."""
        return len(self._steps)

    @property
    def open_connections(self) -> int:
        return len(self._open)

    def holds(self, canary: str) -> bool:
        """Whether any request carried ``canary``, in its body or a header."""
        return any(
            canary in request.raw.decode(errors="replace") or canary in str(request.headers)
            for request in self.requests
        )

    def add(self, *steps: Step) -> None:
        self._loop.call_soon_threadsafe(self._steps.extend, steps)

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._start())
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        if kind is None:
            self._check()

    def _check(self) -> None:
        assert not self.failures, f"the scripted model failed: {self.failures!r}"
        if self._strict:
            assert not self.extra, f"a request too many: {self.extra[0].path}"
            assert not self._steps, f"{len(self._steps)} steps were not asked for"

    def _run(self, what: Any) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(10)

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        self.connections += 1
        try:
            while request := await _read(reader):
                await self._answer(Exchange(request, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # The client went away.
        except Exception as error:  # A broken step must fail the test, not hang it.
            self.failures.append(error)
        finally:
            self._open.discard(writer)
            writer.close()

    async def _answer(self, exchange: Exchange) -> None:
        request = exchange.request
        if request.path.endswith("/models"):
            models = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
            await exchange.whole(200, {}, dumps(models))
            return
        self.requests.append(request)
        if self._steps:
            await self._steps.pop(0)(exchange)
            return
        self.extra.append(request)
        await (status(500) if self._strict else text(self._after))(exchange)


async def _read(reader: asyncio.StreamReader) -> Recorded | None:
    """The next request of a connection, None at its end."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    path = first.split(" ")[1].partition("?")[0]
    return Recorded(path, headers, json.loads(raw) if raw else {}, raw)
