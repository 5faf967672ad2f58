"""What holds for every message that a user says, at any door."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings

from accounts.models import User
from accounts.services import limit_take
from hermes_site.lib.errors import UserFacing
from hermes_site.lib.text import clean
from memory.models import Message


def message_text(text: Any) -> str:
    """A message's text, cleaned. Raises ``UserFacing`` that names the limit."""
    if not isinstance(text, str):
        raise UserFacing("text must be a string.")
    if len(text) > settings.HERMES_MAX_MESSAGE:
        raise UserFacing(
            f"The message has {len(text):,} characters; at most {settings.HERMES_MAX_MESSAGE:,}.",
            code="too_large",
            status=413,
        )
    text = clean(text)
    if not text.strip():
        raise UserFacing("The message is empty.", code="empty")
    return text


def message_limit(user: User) -> None:
    """Count one message. Raises ``RateLimited``."""

    def count(since: datetime) -> float:
        return Message.objects.filter(user=user, role="user", created_at__gte=since).count()

    limit_take(user, "message", count_rows=count)
