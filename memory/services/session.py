"""Making and changing sessions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection, transaction

from accounts.models import User
from accounts.services import audit_record
from hermes_site.lib import clock
from hermes_site.lib.errors import NotFound, UserFacing
from hermes_site.lib.statements import one, prepared
from hermes_site.lib.text import clean
from memory.choices import Mode
from memory.models import Session
from memory.services.attachment import attachments_forget

MAX_TAGS = 20


def session_create(
    user: User,
    *,
    title: str = "",
    engine: str = "",
    model: str = "",
    mode: str = "",
    platform: str = "web",
) -> Session:
    """A new, empty session. Raises ``UserFacing`` for an unknown mode."""
    return Session.objects.create(
        user=user,
        title=clean(title)[:200],
        engine=engine[:64],
        model=model[:200],
        mode=_mode(mode or Mode.CODE),
        platform=platform,
    )


def session_update(
    session: Session,
    *,
    title: str | None = None,
    tags: list[str] | None = None,
    archived: bool | None = None,
    pinned: bool | None = None,
    engine: str | None = None,
    model: str | None = None,
    mode: str | None = None,
) -> Session:
    """Change what the user may change; None leaves a field as it is."""
    changes: dict[str, Any] = {"title": None if title is None else clean(title)[:200]}
    changes |= {"pinned": pinned, "engine": engine, "model": model}
    if tags is not None:
        if len(tags) > MAX_TAGS:
            raise UserFacing(f"{len(tags)} tags are too many. At most {MAX_TAGS}.")
        changes["tags"] = sorted({clean(tag).strip()[:50] for tag in tags} - {""})
    if mode is not None:
        changes["mode"] = _mode(mode)
    changed = {name: value for name, value in changes.items() if value is not None}
    if archived is not None:
        changed["archived_at"] = clock.now() if archived else None
    for name, value in changed.items():
        setattr(session, name, value)
    with transaction.atomic():
        session_hold(session.pk)
        session.save(update_fields=list(changed))
    return session


def session_hold(session_id: UUID) -> None:
    """Keep a session from being deleted until the caller's transaction ends. Taken before any
    row of it, so that a deletion, which goes the other way, waits instead of deadlocking.
    Raises ``NotFound`` when it is gone."""
    lock = " FOR KEY SHARE" if connection.vendor == "postgresql" else ""
    values = prepared(Session, id=session_id)
    if one(f"SELECT 1 FROM memory_session WHERE id = %s{lock}", values.values()) is None:  # noqa: S608
        raise NotFound(f"No session with id {session_id}.")


def session_delete(session: Session, *, via: str) -> None:
    """Delete a session with all that hangs on it. The caller has ended its runs."""
    with transaction.atomic():
        audit_record("session.deleted", actor=session.user, target=session.pk, via=via)
        files = list(session.files.values_list("pk", flat=True))
        session.delete()
        transaction.on_commit(lambda: attachments_forget(files))


_TAKE_POSITION = """
UPDATE memory_session SET next_position = next_position + 1,
  message_count = message_count + %s, last_active_at = %s,
  title = CASE WHEN title = '' THEN %s ELSE title END
WHERE id = %s RETURNING next_position
"""


def position_take(session_id: UUID, *, messages: int = 0, title: str = "") -> int:
    """The next place in a session, taken under the row's lock inside a transaction; counts
    ``messages`` new ones and gives a session without a title its ``title``."""
    values = prepared(Session, last_active_at=clock.now(), title=title, id=session_id)
    row = one(_TAKE_POSITION, [messages, *values.values()])
    if row is None:
        raise NotFound(f"No session with id {session_id}.")
    return int(row[0]) - 1


def _mode(mode: str) -> str:
    if mode not in Mode.values:
        raise UserFacing(f"Mode {mode!r} is not one of {', '.join(Mode.values)}.")
    return mode
