"""What the portal adds to a streamed answer: 1 to 200 sessions over the websocket door."""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import uvloop

from bench.clients import Shape, Stream, chat_completion, connect, portal_message
from bench.figures import Meter, figures, save, table
from tests.fakes.portal import Portal
from tests.fakes.servers import free_port, wait_for

SHARED = Path(os.environ.get("HERMES_BENCH", "../shared/bench")).resolve()
COLUMNS = [
    "what", "sessions", "errors", "first_p50", "first_p95", "token_p50", "token_p95",
    "token_p99", "stretch_p50", "stretch_max", "tokens_per_s", "cpu_ms_token", "rss_mb_sum",
]  # fmt: skip
TIMEOUT = 90


@contextmanager
def script(name: str, *arguments: str, port: int) -> Iterator[int]:
    """A server of the benchmark folder; yields its process id."""
    command = [sys.executable, str(SHARED / name), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: _listens(process.pid, port), f"{name} listens")
        yield process.pid
    finally:
        process.terminate()
        process.wait(10)


def _listens(pid: int, port: int) -> bool:
    open_ports = psutil.Process(pid).net_connections(kind="tcp")
    return any(c.status == "LISTEN" and c.laddr.port == port for c in open_ports)


def spread(index: int, count: int, shape: Shape) -> float:
    """When stream ``index`` starts: over at most two seconds, phases spread over a token's
    period by the golden ratio."""
    return min(2.0, count * 0.05) * index / count + (index * 0.618 % 1) / (shape.rate or 1)


async def sse_level(url: str, count: int, shape: Shape, rounds: int) -> list[Stream]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as http:

        async def one(index: int) -> list[Stream]:
            await asyncio.sleep(spread(index, count, shape))
            return [await chat_completion(http, url, shape, TIMEOUT) for _ in range(rounds)]

        return list(chain.from_iterable(await asyncio.gather(*map(one, range(count)))))


async def portal_level(
    portal: Portal, token: str, count: int, shape: Shape, rounds: int
) -> list[Stream]:
    sessions = await _sessions(portal, token, count)
    address = portal.url.replace("http", "ws") + "/ws/sessions/{}/"
    sockets = [await connect(address.format(id), token) for id in sessions]

    async def one(index: int) -> list[Stream]:
        await asyncio.sleep(spread(index, count, shape))
        return [await portal_message(sockets[index], shape, TIMEOUT) for _ in range(rounds)]

    try:
        return list(chain.from_iterable(await asyncio.gather(*map(one, range(count)))))
    finally:
        for socket in sockets:
            await socket.close()


async def _sessions(portal: Portal, token: str, count: int) -> list[str]:
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(portal.url, headers=headers) as http:
        ids = []
        for _ in range(count):
            async with http.post("/api/v1/sessions", json={}) as answer:
                answer.raise_for_status()
                ids.append((await answer.json())["id"])
        return ids


def measured(what: str, count: int, streams: list[Stream], wall: float) -> dict[str, Any]:
    return {"what": what, "sessions": count, **figures(streams, wall)}


async def run(
    portal: Portal, token: str, doors: dict[str, str], levels: list[int], rounds: int
) -> list[dict[str, Any]]:
    """Each level through every door, one after the other."""
    shape, rows = Shape(), []
    await portal_level(portal, token, 2, shape, 1)  # first runs pay for imports
    for count in levels:
        for what, url in doors.items():
            began = time.monotonic()
            streams = await sse_level(url, count, shape, rounds)
            rows.append(measured(what, count, streams, time.monotonic() - began))
        meter = Meter({name: portal.pid(name) for name in ("web", "turns", "valkey")})
        began = time.monotonic()
        streams = await portal_level(portal, token, count, shape, rounds)
        row = measured("portal", count, streams, time.monotonic() - began) | meter.read()
        tokens = sum(stream.seen for stream in streams) or 1
        row["cpu_ms_token"] = round(sum(row["cpu_s"].values()) * 1000 / tokens, 3)
        row["rss_mb_sum"] = round(sum(row["rss_mb"].values()))
        rows.append(row)
        print(table(rows[-len(doors) - 1 :], COLUMNS), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--levels", default="1,10,50,100,200")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--server", default="daphne", choices=("daphne", "uvicorn"))
    options = parser.parse_args()
    levels = [int(level) for level in options.levels.split(",")]
    model, proxy = free_port(), free_port()
    upstream = f"http://127.0.0.1:{model}"
    with (
        script("fake_llm.py", "--port", str(model), port=model),
        script("proxy.py", str(proxy), upstream, port=proxy),
        Portal(
            OPENAI_BASE_URL=f"{upstream}/v1",
            HERMES_MODEL="fake",
            HERMES_SERVER=options.server,
            HERMES_FAULTS="",
        ) as portal,
    ):
        portal.manage("limit", "everyone", "message", "100000/m")
        token = portal.manage("create_token", portal.admin_email).stdout.strip()
        doors = {
            "direct": f"{upstream}/v1/chat/completions",
            "proxy": f"http://127.0.0.1:{proxy}/v1/chat/completions",
        }
        rows = uvloop.run(run(portal, token, doors, levels, options.rounds))
    print(table(rows, COLUMNS))
    print(f"written to {save(f'streaming-{options.server}', rows)}")


if __name__ == "__main__":
    main()
