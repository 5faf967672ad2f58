"""A model server whose answers follow from the request alone, so that retries and restarts
get the same answer.

The last user message holds a plan: ``PLAN [[[tool, arguments], …], …] SAY text``. Each inner
list is one turn's calls; after the last the text is streamed, a word a token. ``PACE seconds``
sets the time between tokens. Speaks OpenAI's wire format; ``python -m tests.fakes.planned_llm
PORT``. Every request is appended to the file ``--log`` for looking for secrets in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from hermes_site.services.ports import free_port
from tests.fakes.servers import wait_for

_PACE = re.compile(r"PACE ([\d.]+)")


@dataclass(frozen=True)
class Plan:
    """What to answer now, and how fast."""

    calls: list[list[Any]]
    text: str
    pace: float


def plan(messages: list[dict[str, Any]]) -> Plan:
    """The next step of the plan in the last user message that holds one."""
    done = 0
    for message in reversed(messages):
        if message["role"] == "assistant" and message.get("tool_calls"):
            done += 1
        if message["role"] == "user" and "PLAN " in str(message["content"]):
            return _step(str(message["content"]), done)
    return Plan([], f"Echo: {messages[-1]['content']}", 0)


def _step(content: str, done: int) -> Plan:
    body = content.split("PLAN ", 1)[1]
    turns, end = json.JSONDecoder().raw_decode(body)
    pace = _PACE.search(content)
    text = body[end:].partition("SAY ")[2] or "done"
    return Plan(
        turns[done] if done < len(turns) else [], text.strip(), float(pace[1]) if pace else 0
    )


class Server:
    def __init__(self, log: Path | None) -> None:
        self.log = log

    async def chat(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        if self.log:
            with self.log.open("ab") as handle:
                handle.write(raw + b"\n")
        body = json.loads(raw)
        step = plan(body["messages"])
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)

        async def send(delta: dict[str, Any], finish: str | None = None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {"id": "x", "object": "chat.completion.chunk", "choices": [choice]}
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())

        for index, (name, arguments) in enumerate(step.calls):
            id = f"call_{len(body['messages'])}_{index}"
            function = {"name": name, "arguments": json.dumps(arguments)}
            await send({"tool_calls": [{"index": index, "id": id, "function": function}]})
        if not step.calls:
            for word in re.findall(r"\S+\s*", step.text):
                await send({"content": word})
                await asyncio.sleep(step.pace)
        await send({}, "tool_calls" if step.calls else "stop")
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        await response.write(
            f"data: {json.dumps({'choices': [], 'usage': usage})}\n\ndata: [DONE]\n\n".encode()
        )
        return response

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "planned"}]})


@contextmanager
def planned_llm() -> Iterator[tuple[str, Path]]:
    """The server in a process of its own; yields its base URL and its log."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="hermes-llm-") as folder:
        log = Path(folder) / "requests.jsonl"
        log.touch()
        command = [sys.executable, "-m", "tests.fakes.planned_llm", str(port), "--log", str(log)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            wait_for(lambda: process.stdout.readline().startswith("ready"), "the model is up")  # type: ignore[union-attr]
            yield f"http://127.0.0.1:{port}/v1", log
        finally:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    server = Server(options.log)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.chat)
    app.router.add_get("/v1/models", server.models)
    web.run_app(
        app,
        host="127.0.0.1",
        port=options.port,
        print=lambda *_: print("ready", flush=True),
        access_log=None,
    )


if __name__ == "__main__":
    main()
