"""No request body is larger than the largest upload, whoever sends it.

Django keeps a whole body on disk before any view, and so before any login, has a say.
"""

from __future__ import annotations

from typing import Any

import orjson
from django.conf import settings

# What a form adds around one file.
MARGIN = 64 * 1024


def largest_body() -> int:
    """In bytes."""
    return int(settings.HERMES_MAX_UPLOAD) + MARGIN


class BodyLimit:
    """ASGI: answers 413 as soon as a body is, or says it will be, too large."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        limit, got = largest_body(), 0
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > limit:
            await _refuse(send, limit)
            return

        async def counted() -> Any:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got <= limit:
                return message
            await _refuse(send, limit)
            return {"type": "http.disconnect"}

        await self._app(scope, counted, send)


async def _refuse(send: Any, limit: int) -> None:
    body = orjson.dumps(
        {"code": "too_large", "message": f"The body is too large. At most {limit:,} bytes."}
    )
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
