"""Closed sets of words that rows of this app use."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Category(TextChoices):
    """What a tool call touches."""

    READ = "read", _("Read")
    WRITE = "write", _("Write")
    SYSTEM = "system", _("System")
    FINANCE = "finance", _("Finance")


class Outcome(TextChoices):
    """What the policy says about a call."""

    AUTO = "auto", _("Run")
    CONFIRM = "confirm", _("Ask")
    DENY = "deny", _("Refuse")


class CallState(TextChoices):
    PENDING = "pending", _("Pending")
    WAITING = "waiting", _("Waits for a yes")
    RUNNING = "running", _("Running")
    COMPLETED = "completed", _("Completed")
    FAILED = "failed", _("Failed")
    DENIED = "denied", _("Refused")
    EXPIRED = "expired", _("No answer in time")
    CANCELLED = "cancelled", _("Cancelled")
    UNKNOWN = "unknown", _("Outcome unknown")


OPEN = (CallState.PENDING, CallState.WAITING, CallState.RUNNING)


class ApprovalDecision(TextChoices):
    ALLOW = "allow", _("Allowed")
    DENY = "deny", _("Denied")
    EXPIRED = "expired", _("Expired")
    CANCELLED = "cancelled", _("Cancelled")


class Remember(TextChoices):
    """How long a yes holds for the same call."""

    ONCE = "once", _("Only this time")
    SESSION = "session", _("For this session")
    ALWAYS = "always", _("Always")
