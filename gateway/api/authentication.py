"""Who is at the REST door: a bearer token, or the browser session with CSRF."""

from __future__ import annotations

from typing import Any

from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from accounts.services import token_authenticate


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer hp_…``; a bad token is refused even beside a good cookie."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        found = token_authenticate(secret.strip())
        if found is None:
            raise AuthenticationFailed("This token is unknown, expired or revoked.")
        return found

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class PortalSessionAuthentication(SessionAuthentication):
    """The login cookie; unsafe methods need the CSRF token."""

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied as error:
            # A code of its own: a page can fetch a new token and try again.
            raise PermissionDenied(str(error.detail), code="csrf_failed") from error


def via(request: Request) -> str:
    """The door's name in audit and events: ``web`` for the page, ``api`` for a token."""
    return "web" if request.auth is None else "api"
