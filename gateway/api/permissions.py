"""What a caller may do at the REST door."""

from __future__ import annotations

from typing import Any, cast

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from accounts.choices import TokenScope
from accounts.models import ApiToken


class ActiveUserWithScope(BasePermission):
    """An active user; with a token, also the scope that the view wants.

    A view may set ``scope`` for its unsafe methods; reading needs ``read`` (which ``chat``
    includes), everything else ``chat`` unless it says otherwise.
    """

    message = "This token does not have the scope that is needed here."

    def has_permission(self, request: Request, view: Any) -> bool:
        user = request.user
        if not (user and user.is_authenticated and user.is_active):
            return False
        return holds(cast("ApiToken | None", request.auth), self._wanted(request, view))

    @staticmethod
    def _wanted(request: Request, view: Any) -> str:
        if request.method in SAFE_METHODS:
            return str(getattr(view, "read_scope", TokenScope.READ))
        return str(getattr(view, "scope", TokenScope.CHAT))


def holds(token: ApiToken | None, scope: str) -> bool:
    """Whether ``token`` gives ``scope``; a browser session (None) gives all."""
    if not isinstance(token, ApiToken):
        return True
    return scope in token.scopes or (scope == TokenScope.READ and TokenScope.CHAT in token.scopes)
