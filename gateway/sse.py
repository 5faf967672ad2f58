"""The same events as server-sent events, for clients without websockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse

from accounts.choices import TokenScope
from accounts.models import ApiToken, User
from accounts.services import token_authenticate
from gateway.api.permissions import holds
from gateway.connections import Connection, connections
from gateway.feed import Feed, Lagging, parse_after
from hermes_site.lib.database import in_database
from hermes_site.lib.errors import NotFound
from memory.models import Session

# Seconds of silence after which a comment keeps proxies from closing the stream.
KEEPALIVE = 15


async def session_events(request: HttpRequest, id: str) -> HttpResponse | StreamingHttpResponse:
    """``GET sessions/{id}/events``: honours ``Last-Event-ID`` and ``?after=``."""
    if request.method != "GET":
        return _error(405, "method_not_allowed", f"Method {request.method} is not allowed.")
    user, token = await in_database(_who, request)
    if user is None:
        response = _error(401, "not_authenticated", "Log in, or send a bearer token.")
        response["WWW-Authenticate"] = "Bearer"
        return response
    if not holds(token, TokenScope.READ):
        return _error(403, "permission_denied", "This token lacks the scope 'read'.")
    # A browser that reconnects sends the newer number beside the address it began with.
    raw = request.headers.get("Last-Event-ID") or request.GET.get("after")
    try:
        after = parse_after(raw)
    except ValueError:
        return _error(400, "invalid", f"after={str(raw)[:40]!r} is not an event number.")
    session = await in_database(_find, user, id)
    if session is None:
        return _error(404, "not_found", f"No session with id {id[:60]!r}.")
    streamed = StreamingHttpResponse(
        _stream(user, token, request, session.pk, after), content_type="text/event-stream"
    )
    streamed["Cache-Control"] = "no-cache"
    streamed["X-Accel-Buffering"] = "no"
    return streamed


async def _stream(
    user: User, token: ApiToken | None, request: HttpRequest, session_id: UUID, after: int | None
) -> AsyncIterator[bytes]:
    ended = asyncio.Event()

    async def end(code: int) -> None:
        ended.set()

    key = request.session.session_key if token is None else None
    connection = Connection(
        user.pk, token.pk if token else None, key, user.get_session_auth_hash(), end
    )
    await connections().add(connection)
    feed = Feed(user, session_id, after).events()
    ending = asyncio.ensure_future(ended.wait())
    following = asyncio.ensure_future(anext(feed))
    try:
        yield b": open\n\n"
        while not ended.is_set():
            await asyncio.wait(
                {following, ending}, timeout=KEEPALIVE, return_when="FIRST_COMPLETED"
            )
            if following.done():
                seq, event = following.result()
                yield b"id: %d\ndata: %s\n\n" % (seq, event)
                following = asyncio.ensure_future(anext(feed))
            elif not ended.is_set():
                yield b": \n\n"
    except (Lagging, StopAsyncIteration, NotFound):
        return
    finally:
        following.cancel()
        ending.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await feed.aclose()
        await connections().remove(connection)


def _who(request: HttpRequest) -> tuple[User | None, ApiToken | None]:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        found = token_authenticate(secret.strip())
        return found if found else (None, None)
    user: Any = request.user
    return (user if user.is_authenticated and user.is_active else None), None


def _find(user: User, id: str) -> Session | None:
    try:
        return Session.objects.for_user(user).fetch(id)
    except NotFound:
        return None


def _error(status: int, code: str, message: str) -> JsonResponse:
    return JsonResponse({"code": code, "message": message, "extra": {}}, status=status)
