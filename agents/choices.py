"""Closed sets of words that rows of this app use."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

# The task that is woken for a run (agents.tasks).
TURN = "agents.turn"


class RunState(TextChoices):
    """``waiting``: for tools, or for a person."""

    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    WAITING = "waiting", _("Waiting")
    COMPLETED = "completed", _("Completed")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


ACTIVE = (RunState.RUNNING, RunState.WAITING)
OPEN = (RunState.QUEUED, *ACTIVE)
