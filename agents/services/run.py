"""Accepting a message: message row and run row together, then a wake-up."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.models import User
from agents import commands
from agents.accounts import check_choice
from agents.choices import TURN, RunState
from agents.models import Run
from agents.registry import ENGINES
from agents.services.files import files_place
from agents.services.intake import message_limit, message_text
from hermes_site.lib import clock, events
from hermes_site.lib.errors import Conflict, UserFacing
from hermes_site.lib.faults import fault
from hermes_site.lib.ids import new_id
from hermes_site.lib.statements import Insert, one, prepared
from hermes_site.lib.wake import wake_on_commit
from memory.choices import Mode
from memory.models import Message, Session
from memory.services import answer_save, emit, message_accept, message_event

_insert = Insert(Run)
# Runs that may wait in one session.
MAX_QUEUED = 50


def message_send(
    user: User,
    session: Session,
    *,
    text: str,
    surface: str,
    client_id: str | None = None,
    engine: str = "",
    model: str = "",
    mode: str = "",
    options: dict[str, Any] | None = None,
    parent: Message | None = None,
    branched: bool = False,
    may_approve: bool = True,
) -> tuple[Message, Run]:
    """Accept a message and queue its run; once this returns, neither is lost.

    The same ``client_id`` again returns the first message and run. ``may_approve`` False: the
    door's token does not reach to ``/approve``. Raises ``UserFacing`` (bad
    input), ``RateLimited``.
    """
    text = message_text(text)
    known = _sent_before(session, client_id)
    if known:
        return known
    fields = _run_fields(session, engine, model, mode)
    options = options or {}
    files = files_place(user, options.get("files") or [])
    queued = _queued(session)
    if queued >= MAX_QUEUED:
        raise Conflict(f"{queued} messages wait in this session already.", code="queue_full")
    message_limit(user)
    try:
        with transaction.atomic():
            run = Run(
                id=new_id(), user=user, session=session, surface=surface, options=options, **fields
            )
            message = message_accept(
                session,
                text=text,
                run_id=run.pk,
                client_id=client_id,
                platform=surface,
                metadata={"files": files} if files else None,
                parent=parent,
                branched=branched,
            )
            run.message, run.number = message, message.position
            fault("message_inserted")
            here = commands.Here(user, session, surface, may_approve)
            if not _answered_at_once(run, here, text):
                _insert(run)
                queued_event = events.RunQueued(message=str(message.pk), position=queued)
                emit(session.pk, run.pk, message_event(message), queued_event)
                wake_on_commit(TURN, run.pk)
    except IntegrityError:
        known = _sent_before(session, client_id)  # the same client_id in parallel
        if known is None:
            raise
        return known
    fault("message_committed")
    return message, run


_QUEUED = "SELECT COUNT(*) FROM agents_run WHERE session_id = %s AND state = 'queued'"


def _queued(session: Session) -> int:
    (count,) = one(_QUEUED, prepared(Run, session=session.pk).values()) or (0,)
    return int(count)


def _answered_at_once(run: Run, here: commands.Here, text: str) -> bool:
    """Commands such as ``/stop`` do not wait behind the run that they are about."""
    said = commands.answer(here, text)
    if said is None:
        return False
    run.message.placed = True
    run.message.save(update_fields=["placed"])
    now = clock.now()
    run.state, run.started_at, run.finished_at = RunState.COMPLETED, now, now
    _insert(run)
    reply = answer_save(
        id=run.answer_id, session_id=run.session_id, user=run.user, run_id=run.pk, text=said
    )
    done = events.RunCompleted(message=str(reply.pk))
    emit(run.session_id, run.pk, message_event(run.message), message_event(reply), done)
    return True


def _run_fields(session: Session, engine: str, model: str, mode: str) -> dict[str, str]:
    engine = engine or session.engine or settings.HERMES_DEFAULT_ENGINE
    if ENGINES.get(engine) is None:
        raise UserFacing(
            f"Engine {engine[:64]!r} is not one of {', '.join(ENGINES.all())}.",
            code="unknown_engine",
        )
    mode = mode or session.mode
    if mode not in Mode.values:
        raise UserFacing(f"Mode {mode[:20]!r} is not one of {', '.join(Mode.values)}.")
    model = model or session.model
    check_choice(model)
    return {"engine": engine, "model": model, "mode": mode}


def _sent_before(session: Session, client_id: str | None) -> tuple[Message, Run] | None:
    if not client_id:
        return None
    message = Message.objects.filter(session=session, client_id=client_id).first()
    run = Run.objects.filter(message=message).first() if message else None
    return (message, run) if message and run else None
