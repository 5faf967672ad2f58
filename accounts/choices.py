"""Closed sets of words that rows of this app use."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Level(TextChoices):
    """How much the agent may do without asking (docs/security.md)."""

    SAFE = "safe", _("Safe")
    AUTO = "auto", _("Auto")
    FULL = "full-access", _("Full access")


LEVEL_ORDER = [Level.SAFE.value, Level.AUTO.value, Level.FULL.value]


class Scope(TextChoices):
    """Whom an administrator's row is for; the narrower one wins."""

    EVERYONE = "everyone", _("Everyone")
    GROUP = "group", _("Group")
    USER = "user", _("User")


class LimitAction(TextChoices):
    MESSAGE = "message", _("Messages")
    TOOL_CALL = "tool_call", _("Tool calls")
    TOKENS = "tokens", _("Tokens")
    COST = "cost", _("Cost (USD)")


class TokenScope(TextChoices):
    """What a personal token may do. ``chat`` includes reading."""

    READ = "read", _("Read")
    CHAT = "chat", _("Chat")
    APPROVE = "approve", _("Decide approvals")
    ACCOUNT = "account", _("Manage tokens and settings")
