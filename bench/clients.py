"""Load clients that take every token's delay from the stamp that the fake model put into it."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson
import websockets

# ``<n>@<monotonic ns> ``, as the fake model writes it.
TOKEN = re.compile(r"(\d+)@(\d{6,})x* ")
now = time.monotonic_ns


@dataclass(frozen=True)
class Shape:
    """The answer that is asked for: tokens, tokens per second, milliseconds to the first."""

    tokens: int = 100
    rate: float = 25
    ttft: float = 100

    @property
    def prompt(self) -> str:
        return f"[[n:{self.tokens}]] [[r:{self.rate:g}]] [[t:{self.ttft:g}]]"


@dataclass
class Stream:
    """What one answer did."""

    shape: Shape
    sent: int = 0
    first: int = 0
    last: int = 0
    seen: int = 0
    events: int = 0
    error: str = ""
    tail: str = ""
    added: list[int] = field(default_factory=list)

    def text(self, text: str, arrived: int) -> None:
        self.tail += text
        end = 0
        for match in TOKEN.finditer(self.tail):
            self.first = self.first or arrived
            if int(match[1]) != self.seen:
                self.error = f"token {match[1]} came where {self.seen} was due"
            self.seen += 1
            self.added.append(arrived - int(match[2]))
            end = match.end()
        if end:
            self.tail, self.last = self.tail[end:], arrived

    @property
    def complete(self) -> bool:
        return not self.error and self.seen == self.shape.tokens


async def chat_completion(
    http: aiohttp.ClientSession, url: str, shape: Shape, timeout: float
) -> Stream:
    """One answer over an OpenAI-compatible SSE door."""
    stream = Stream(shape)
    body = {
        "model": "fake",
        "stream": True,
        "messages": [{"role": "user", "content": shape.prompt}],
    }
    stream.sent = now()
    try:
        async with asyncio.timeout(timeout), http.post(url, json=body) as answer:
            answer.raise_for_status()
            buffer = b""
            async for chunk in answer.content.iter_any():
                arrived = now()
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    _sse_line(stream, line, arrived)
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        stream.error = f"{type(error).__name__}: {error}"
    return stream


def _sse_line(stream: Stream, line: bytes, arrived: int) -> None:
    if not line.startswith(b"data: {"):
        return
    stream.events += 1
    choices = orjson.loads(line[6:]).get("choices")
    if choices and (text := choices[0]["delta"].get("content")):
        stream.text(text, arrived)


async def portal_message(socket: Any, shape: Shape, timeout: float) -> Stream:
    """One answer over an open websocket of the portal, until its run has ended."""
    stream = Stream(shape)
    stream.sent = now()
    try:
        async with asyncio.timeout(timeout):
            await socket.send(json.dumps({"type": "message.send", "text": shape.prompt}))
            async for frame in socket:
                arrived = now()
                event = orjson.loads(frame)
                stream.events += 1
                if event["type"] == "message.delta":
                    stream.text(event["data"]["text"], arrived)
                elif event["type"] in ("run.failed", "run.cancelled", "error"):
                    stream.error = str(event["data"])
                    break
                elif event["type"] == "run.completed":
                    break
    except (TimeoutError, websockets.WebSocketException, OSError) as error:
        stream.error = f"{type(error).__name__}: {error}"
    return stream


async def connect(url: str, token: str) -> Any:
    """A websocket of the portal, without compression."""
    headers = {"Authorization": f"Bearer {token}"}
    return await websockets.connect(
        url, additional_headers=headers, max_size=None, compression=None, open_timeout=30
    )
