"""Making and changing users."""

from __future__ import annotations

import secrets
from typing import Any
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session as BrowserSession
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from accounts.choices import Level
from accounts.models import User
from accounts.services.audit import audit_record
from accounts.signals import user_disabled
from hermes_site.lib.errors import UserFacing
from hermes_site.lib.text import clean


def user_create(
    *,
    email: str,
    password: str | None = None,
    level: str = "",
    admin: bool = False,
    name: str = "",
    actor: Any = "system",
) -> User:
    """Make a user; without a password they can only come in by a link or single sign-on.

    Raises ``UserFacing`` for a bad or taken address, a weak password or an unknown level.
    """
    email = email.strip().lower()
    try:
        validate_email(email)
        if password is not None:
            validate_password(password, User(email=email, name=name))
    except ValidationError as error:
        raise UserFacing(f"{email!r}: {' '.join(error.messages)}", code="invalid_user") from error
    if level and level not in Level.values:
        raise UserFacing(f"Level {level!r} is not one of {', '.join(Level.values)}.")
    if User.objects.filter(email=email).exists():
        raise UserFacing(f"There is already a user {email!r}.", code="user_exists")
    with transaction.atomic():
        user = User.objects.create_user(
            email, password, level=level, name=name, is_staff=admin, is_superuser=admin
        )
        audit_record(
            "user.created", actor=actor, target=email, data={"level": level, "admin": admin}
        )
    return user


def first_admin_ensure(*, email: str, password: str | None) -> tuple[User, str | None]:
    """The first administrator; made when there is none. Returns the generated password, once."""
    existing = User.objects.filter(is_superuser=True).order_by("date_joined").first()
    if existing:
        return existing, None
    generated = None if password else secrets.token_urlsafe(12)
    with transaction.atomic():
        user = User.objects.create_superuser(email, password or generated, level=Level.AUTO)
        audit_record("user.created", actor="system", target=user.email, data={"admin": True})
    return user, generated


def user_update(user: User, *, name: str, language: str, timezone: str) -> None:
    """Change what users may change of themselves. Raises ``UserFacing``."""
    if language and language not in dict(settings.LANGUAGES):
        raise UserFacing(f"Language {language[:20]!r} is not known here.")
    if timezone not in available_timezones():
        raise UserFacing(f"Time zone {timezone[:60]!r} is not known. Use one such as Europe/Paris.")
    user.name, user.language, user.timezone = clean(name)[:150].strip(), language, timezone
    with transaction.atomic():
        user.save(update_fields=["name", "language", "timezone"])
        audit_record("user.profile", actor=user, target=user.email)


def user_set_level(user: User, level: str, *, actor: Any) -> None:
    if level and level not in Level.values:
        raise UserFacing(f"Level {level!r} is not one of {', '.join(Level.values)}.")
    with transaction.atomic():
        # Another administrator may have changed the row since ``user`` was read.
        row = User.objects.select_for_update().only("level").get(pk=user.pk)
        old, user.level = row.level, level
        user.save(update_fields=["level"])
        audit_record("user.level", actor=actor, target=user.email, data={"from": old, "to": level})


def user_set_active(user: User, active: bool, *, actor: Any) -> None:
    """Enable or disable; disabling ends sockets, tokens, browser sessions and runs at once."""
    with transaction.atomic():
        user.is_active = active
        user.save(update_fields=["is_active"])
        audit_record("user.enabled" if active else "user.disabled", actor=actor, target=user.email)
        if not active:
            transaction.on_commit(lambda: user_disabled.send(sender=User, user=user))


def browser_sessions_end(user: User) -> int:
    """Log the user out everywhere; returns how many browser sessions ended."""
    ended = 0
    for session in BrowserSession.objects.iterator():
        if session.get_decoded().get("_auth_user_id") == str(user.pk):
            session.delete()
            ended += 1
    return ended
