"""Who is at a websocket: a bearer token, or the login cookie from an allowed origin."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.http.cookie import parse_cookie
from django.utils.module_loading import import_string

from accounts.services import token_authenticate
from hermes_site.lib.database import in_database

App = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


class SocketAuth:
    """Sets ``user``, ``token`` and ``session_key`` of the scope. A cookie counts only with an
    ``Origin`` that is the portal's own; a token needs none, since no browser sends it by itself."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        headers = {k.lower(): v.decode("latin-1") for k, v in scope.get("headers", [])}
        user, token, key = await in_database(_identify, headers)
        scope = {**scope, "user": user, "token": token, "session_key": key}
        await self._app(scope, receive, send)


def _identify(headers: dict[bytes, str]) -> tuple[Any, Any, str | None]:
    scheme, _, secret = headers.get(b"authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        found = token_authenticate(secret.strip())
        return (*found, None) if found else (AnonymousUser(), None, None)
    if not origin_allowed(headers.get(b"origin", ""), headers.get(b"host", "")):
        return AnonymousUser(), None, None
    request = HttpRequest()
    cookies = parse_cookie(headers.get(b"cookie", ""))
    store = import_string(f"{settings.SESSION_ENGINE}.SessionStore")
    request.session = store(cookies.get(settings.SESSION_COOKIE_NAME))
    return get_user(request), None, request.session.session_key


def origin_allowed(origin: str, host: str) -> bool:
    """Scheme, host and port must all be the portal's: its public URL, or, for a portal on this
    machine, the very host that was asked."""
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    parts = urlsplit(origin)
    local = parts.hostname in ("127.0.0.1", "localhost", "::1")
    return local and parts.scheme == "http" and not settings.SECURE and parts.netloc == host
