"""Closed sets of words that rows of this app use (docs/api.md lists them for clients)."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Role(TextChoices):
    USER = "user", _("User")
    ASSISTANT = "assistant", _("Assistant")
    SYSTEM = "system", _("System")


class MessageState(TextChoices):
    STREAMING = "streaming", _("Streaming")
    COMPLETED = "completed", _("Completed")
    INTERRUPTED = "interrupted", _("Interrupted")
    FAILED = "failed", _("Failed")


class Mode(TextChoices):
    """How a session asks: each call, only reading, or as the matrix says."""

    ASK = "ask", _("Ask before each call")
    PLAN = "plan", _("Plan: read only")
    CODE = "code", _("As the policy says")
