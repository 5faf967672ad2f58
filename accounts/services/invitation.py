"""Invitations."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction

from accounts.choices import Level
from accounts.models import Invitation, User
from accounts.services.audit import audit_record
from hermes_site.lib import clock
from hermes_site.lib.errors import UserFacing

LIFETIME = timedelta(days=7)


def invitation_create(
    *, email: str, actor: Any, level: str = "", groups: list[Group] | None = None
) -> tuple[Invitation, str]:
    """Invite an address; returns the row and the code for the link, which is not kept.

    Raises ``UserFacing`` for a taken address or an unknown level.
    """
    email = email.strip().lower()
    if level and level not in Level.values:
        raise UserFacing(f"Level {level!r} is not one of {', '.join(Level.values)}.")
    if User.objects.filter(email=email).exists():
        raise UserFacing(f"There is already a user {email!r}.", code="user_exists")
    code = secrets.token_urlsafe(24)
    with transaction.atomic():
        Invitation.objects.filter(email=email, accepted_at=None).delete()
        invitation = Invitation.objects.create(
            email=email,
            digest=_digest(code),
            level=level,
            invited_by=actor if isinstance(actor, User) else None,
            expires_at=clock.now() + LIFETIME,
        )
        invitation.groups.set(groups or [])
        audit_record("user.invited", actor=actor, target=email, data={"level": level})
    return invitation, code


def invitation_find(code: str) -> Invitation | None:
    """The open invitation behind ``code``."""
    return Invitation.objects.filter(
        digest=_digest(code), accepted_at=None, expires_at__gt=clock.now()
    ).first()


def invitation_accept(code: str, user: User) -> bool:
    """Consume the invitation for a user who just signed up; gives level and groups.

    One conditional UPDATE decides, so a code is used once.
    """
    with transaction.atomic():
        invitation = invitation_find(code)
        if invitation is None or invitation.email != user.email:
            return False
        taken = Invitation.objects.filter(pk=invitation.pk, accepted_at=None).update(
            accepted_at=clock.now()
        )
        if not taken:
            return False
        user.level = invitation.level
        user.save(update_fields=["level"])
        user.groups.add(*invitation.groups.all())
        audit_record("invitation.accepted", actor=user, target=invitation.pk)
    return True


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
