"""Start and end of a web process, for servers that tell (uvicorn; daphne does not)."""

from __future__ import annotations

from typing import Any

from gateway.feed import hub


class Lifespan:
    """Answers the server, and closes the subscription at the end."""

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await hub().close()
                await send({"type": "lifespan.shutdown.complete"})
                return
