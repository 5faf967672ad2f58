"""Saying something to a run that is under way."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from accounts.models import User
from agents.choices import OPEN
from agents.models import Run
from agents.services.intake import message_limit, message_text
from hermes_site.lib.errors import Conflict
from memory.models import Message
from memory.services import emit, message_accept, message_event, session_hold


def run_steer(user: User, run: Run, text: str, *, via: str) -> Message:
    """Say something to a run that is under way; its next turn sees it. Raises ``Conflict``."""
    text = message_text(text)
    message_limit(user)
    with transaction.atomic():
        session_hold(run.session_id)
        # Changes nothing, but locks the row and checks that the run still goes on.
        if not Run.objects.filter(pk=run.pk, state__in=OPEN).update(state=F("state")):
            run.refresh_from_db()
            raise Conflict(f"The run is {run.state}.", code="settled", extra={"state": run.state})
        message = message_accept(run.session, text=text, run_id=run.pk, platform=via, placed=True)
        emit(run.session_id, run.pk, message_event(message))
    return message
