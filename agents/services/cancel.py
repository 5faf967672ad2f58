"""Stopping a run: its stream, its tools, its open questions, at once."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from django.db import transaction
from django.db.models import F
from redis.exceptions import RedisError

from accounts.models import User
from accounts.services import audit_record
from agents.choices import OPEN, RunState
from agents.models import Run
from agents.services.turn import wake_next
from agents.signals import run_finished
from hermes_site.lib import clock, events
from hermes_site.lib.errors import NotFound
from hermes_site.lib.redis import STREAM_TTL, client, fence_key, partial_key, run_channel
from memory.choices import MessageState
from memory.services import answer_save, emit, message_event, session_hold
from memory.services.message import message_place
from tools.services import calls_cancel

log = logging.getLogger(__name__)


def run_cancel(run: Run, *, by: User | None, via: str) -> bool:
    """Cancel an open run; False when it had ended already. What was streamed is kept. Raises
    ``NotFound`` when its session was deleted meanwhile."""
    with transaction.atomic():
        session_hold(run.session_id)
        won = Run.objects.filter(pk=run.pk, state__in=OPEN).update(
            state=RunState.CANCELLED,
            fence=F("fence") + 1,
            lease_until=None,
            finished_at=clock.now(),
        )
        run.refresh_from_db()
        if not won:
            return False
        message_place(run.message)
        calls_cancel(run.pk, by=by, via=via)
        text, told = _streamed(run), []
        if text.strip():
            kept = answer_save(
                id=run.answer_id,
                session_id=run.session_id,
                user=run.user_id,
                run_id=run.pk,
                text=text,
                state=MessageState.INTERRUPTED,
            )
            told.append(message_event(kept))
        name = by.get_short_name() if by else None
        emit(run.session_id, run.pk, *told, events.RunCancelled(by=name))
        audit_record("run.cancelled", actor=by or "system", target=run.pk, via=via)
        wake_next(run.session_id)
        transaction.on_commit(lambda: _tell_workers(run))
    return True


def runs_cancel_of_user(user: User, *, via: str = "system") -> int:
    """Cancel every open run of a user who was disabled."""
    runs = Run.objects.filter(user=user, state__in=OPEN)
    cancelled = 0
    for run in runs:
        with suppress(NotFound):
            cancelled += run_cancel(run, by=None, via=via)
    return cancelled


def _streamed(run: Run) -> str:
    """The text that clients have seen so far, as Redis holds it."""
    try:
        kept: Any = client().get(partial_key(run.session_id, run.answer_id))
    except RedisError:
        return ""
    return (kept or b"").decode(errors="replace")


def _tell_workers(run: Run) -> None:
    """Stop the stream now, and refuse what its worker still sends; without Redis the worker
    notices at its next heartbeat."""
    try:
        pipe = client().pipeline(transaction=False)
        pipe.set(fence_key(run.session_id, run.pk), run.fence, ex=STREAM_TTL)
        pipe.publish(run_channel(), f"cancel {run.pk}")
        pipe.execute()
    except RedisError as error:
        log.warning("cancel_not_sent run=%s error=%s", run.pk, error)
    run_finished.send(sender=Run, run_id=run.pk)
