"""Sessions as the agents layer sees them: with an engine and a model that exist, and with runs
that end before their session goes."""

from __future__ import annotations

from typing import Any

from django.db import connection, transaction

from accounts.models import User
from agents.accounts import check_choice
from agents.choices import OPEN
from agents.models import Run
from agents.registry import ENGINES
from agents.services.cancel import run_cancel
from hermes_site.lib.errors import UserFacing
from memory.models import Session
from memory.services import session_create, session_delete, session_update


def session_start(user: User, *, platform: str, **fields: str) -> Session:
    """A new session with ``title``, ``engine``, ``model``, ``mode``. Raises ``UserFacing`` for
    an engine, account or mode that is not there."""
    _check(fields)
    return session_create(user, platform=platform, **fields)


def session_change(session: Session, **fields: Any) -> Session:
    """Change what ``memory.services.session_update`` takes, checked as at the start."""
    _check(fields)
    return session_update(session, **fields)


def session_remove(session: Session, *, by: User, via: str) -> None:
    """End the session's open runs, then delete it with all that hangs on it."""
    with transaction.atomic():
        session_lock(session)
        for run in Run.objects.for_user(by).filter(session=session, state__in=OPEN):
            run_cancel(run, by=by, via=via)
        session_delete(session, via=via)


def session_lock(session: Session) -> None:
    """Keep messages out until the caller's transaction ends; SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        Session.objects.select_for_update().filter(pk=session.pk).first()


def _check(fields: dict[str, Any]) -> None:
    engine, model = fields.get("engine"), fields.get("model")
    if engine and ENGINES.get(engine) is None:
        known = ", ".join(ENGINES.all())
        raise UserFacing(f"Engine {engine[:64]!r} is not one of {known}.", code="unknown_engine")
    if model:
        check_choice(model)
