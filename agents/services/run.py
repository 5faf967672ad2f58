"""Accepting a message: message row and run row together, then a wake-up."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F

from accounts.models import User
from accounts.services import limit_take
from agents.accounts import check_choice
from agents.choices import OPEN, RunState
from agents.models import Run
from agents.registry import ENGINES
from hermes_site.lib import events
from hermes_site.lib.errors import Conflict, UserFacing
from hermes_site.lib.faults import fault
from hermes_site.lib.ids import new_id
from hermes_site.lib.text import clean
from hermes_site.lib.wake import wake_on_commit
from memory.choices import Mode
from memory.models import Attachment, Message, Session
from memory.services import emit, message_accept

TURN = "agents.turn"
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
) -> tuple[Message, Run]:
    """Accept a message and queue its run; once this returns, neither is lost.

    The same ``client_id`` again returns the first message and run. Raises ``UserFacing`` (bad
    input), ``RateLimited``.
    """
    text = message_text(text)
    known = _sent_before(session, client_id)
    if known:
        return known
    fields = _run_fields(session, engine, model, mode)
    options = options or {}
    _check_files(user, options.get("files") or [])
    queued = Run.objects.filter(session=session, state=RunState.QUEUED).count()
    if queued >= MAX_QUEUED:
        raise Conflict(f"{queued} messages wait in this session already.", code="queue_full")
    limit_take(user, "message", count_rows=lambda since: _messages_since(user, since))
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
                metadata={"files": options["files"]} if options.get("files") else None,
                parent=parent,
                branched=branched,
            )
            run.message, run.number = message, message.position
            run.save(force_insert=True)
            emit(session.pk, run.pk, events.RunQueued(message=str(message.pk), position=queued))
            fault("message_inserted")
            wake_on_commit(TURN, run.pk)
    except IntegrityError:
        known = _sent_before(session, client_id)  # the same client_id in parallel
        if known is None:
            raise
        return known
    return message, run


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


def run_steer(user: User, run: Run, text: str, *, via: str) -> Message:
    """Say something to a run that is under way; its next turn sees it. Raises ``Conflict``."""
    text = message_text(text)
    limit_take(user, "message", count_rows=lambda since: _messages_since(user, since))
    with transaction.atomic():
        # Changes nothing, but locks the row and checks that the run still goes on.
        if not Run.objects.filter(pk=run.pk, state__in=OPEN).update(state=F("state")):
            run.refresh_from_db()
            raise Conflict(f"The run is {run.state}.", code="settled", extra={"state": run.state})
        return message_accept(run.session, text=text, run_id=run.pk, platform=via, placed=True)


def _run_fields(session: Session, engine: str, model: str, mode: str) -> dict[str, str]:
    engine = engine or session.engine or settings.HERMES_DEFAULT_ENGINE
    if ENGINES.get(engine) is None:
        raise UserFacing(
            f"Engine {engine[:64]!r} is not one of {', '.join(ENGINES.all())}.", code="unknown_engine"
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


def _check_files(user: User, files: list[Any]) -> None:
    for id in files:
        Attachment.objects.for_user(user).fetch(id)


def _messages_since(user: User, since: datetime) -> int:
    return Message.objects.filter(user=user, role="user", created_at__gte=since).count()
