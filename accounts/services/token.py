"""Personal API tokens."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from accounts.choices import TokenScope
from accounts.models import ApiToken, User
from accounts.services.audit import audit_record
from hermes_site.lib import clock
from hermes_site.lib.errors import Denied, UserFacing
from hermes_site.lib.text import clean

PREFIX = "hp_"
MAX_DAYS = 3650
# How often, in seconds, the time of last use is written.
_USE_GRAIN = 60


def token_create(
    user: User,
    *,
    name: str = "",
    scopes: list[str] | None = None,
    days: int | None = None,
    by_token: ApiToken | None = None,
    via: str = "",
) -> tuple[ApiToken, str]:
    """Make a token and return it with its secret, which is not kept.

    ``scopes`` defaults to all that the maker has; a token cannot make a wider or longer-lived
    one than itself. Raises ``UserFacing`` and ``Denied``.
    """
    held = by_token.scopes if by_token else TokenScope.values
    wanted = list(held) if scopes is None else list(dict.fromkeys(scopes))
    if not wanted:
        raise UserFacing(f"Name at least one scope: {', '.join(TokenScope.values)}.")
    unknown = [scope for scope in wanted if scope not in TokenScope.values]
    if unknown:
        raise UserFacing(f"Unknown scope {unknown[0]!r}. Use {', '.join(TokenScope.values)}.")
    if days is not None and not 1 <= days <= MAX_DAYS:
        raise UserFacing(f"days={days} is out of range. Use 1 to {MAX_DAYS}.")
    if not set(wanted) <= set(held):
        raise Denied("A token cannot make one with more scopes than its own.", code="scope")
    expires = clock.now() + timedelta(days=days) if days else None
    if by_token and by_token.expires_at:
        expires = min(expires or by_token.expires_at, by_token.expires_at)
    secret = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = ApiToken.objects.create(
            user=user,
            name=clean(name)[:100] or "token",
            digest=_digest(secret),
            hint=secret[:8],
            scopes=wanted,
            expires_at=expires,
        )
        audit_record("token.created", actor=user, target=token.pk, via=via, data={"scopes": wanted})
    return token, secret


def token_authenticate(secret: str) -> tuple[User, ApiToken] | None:
    """The user and token behind ``secret``, or None for unknown, revoked, expired, disabled."""
    if not secret.startswith(PREFIX) or len(secret) > 100:
        return None
    now = clock.now()
    token = (
        ApiToken.objects.select_related("user")
        .filter(Q(expires_at=None) | Q(expires_at__gt=now), digest=_digest(secret))
        .filter(revoked_at=None, user__is_active=True)
        .first()
    )
    if token is None:
        return None
    if not token.last_used_at or (now - token.last_used_at).total_seconds() > _USE_GRAIN:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token.user, token


def token_revoke(user: User, id: object, *, actor: Any = None, via: str = "") -> None:
    """End one of the user's own tokens. Raises ``NotFound``."""
    # Also a disabled user's, whose tokens would work again with the user.
    token = ApiToken.objects.filter(user=user).fetch(id)
    with transaction.atomic():
        ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=clock.now())
        audit_record("token.revoked", actor=actor or user, target=token.pk, via=via)


def _digest(secret: str) -> str:
    """Plain SHA-256 is enough for a secret of 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()
