"""Saying a message again, changed or not: a new branch, from which the old one stays reachable."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.models import User
from agents.choices import OPEN
from agents.direct import parse
from agents.models import Run
from agents.services.run import message_send
from agents.services.session import session_lock
from hermes_site.lib.errors import Conflict, UserFacing
from memory.choices import Role
from memory.models import Message

# Messages of one session that are looked at to find the way back to its beginning.
_FAR = 100_000


def message_edit(
    user: User, id: object, *, text: str, via: str, client_id: str | None = None
) -> tuple[Message, Run]:
    """Say another ``text`` in place of one of the user's own messages.

    Raises ``NotFound``, ``UserFacing`` for a message of the agent or a command, ``Conflict``
    while a run is open in the session, ``RateLimited``.
    """
    message = Message.objects.for_user(user).select_related("session", "parent").fetch(id)
    if message.role != Role.USER:
        raise UserFacing("Only your own messages can be edited.", code="not_editable")
    return _branch(user, message, text, via, client_id)


def message_regenerate(
    user: User, id: object, *, via: str, client_id: str | None = None
) -> tuple[Message, Run]:
    """Ask for another answer: to the message with ``id``, or to the one it answers. What was
    allowed for the first answer is asked about anew. Raises as ``message_edit`` does."""
    message = Message.objects.for_user(user).select_related("session", "parent").fetch(id)
    if message.role != Role.USER:
        run = Run.objects.for_user(user).filter(pk=message.run_id).first()
        if run is None:
            raise UserFacing("This message answers none of yours.", code="not_editable")
        asked = Message.objects.for_user(user).select_related("session", "parent")
        message = asked.fetch(run.message_id)
    return _branch(user, message, message.text, via, client_id)


def _branch(
    user: User, old: Message, text: Any, via: str, client_id: str | None
) -> tuple[Message, Run]:
    known = _sent_before(user, old, client_id)
    if known:
        return known
    name = (parse(text) or ("",))[0] if isinstance(text, str) else ""
    if name not in ("", "!", "tool"):
        raise UserFacing(f"The command /{name} cannot stand in a branch.", code="not_editable")
    with transaction.atomic():
        session_lock(old.session)
        open_run = Run.objects.for_user(user).filter(session=old.session, state__in=OPEN).first()
        if open_run:
            raise Conflict(
                "A run is open in this session. Stop it, or wait for its end.",
                code="run_open",
                extra={"run": str(open_run.pk), "state": open_run.state},
            )
        _return_to(user, old)
        before = Run.objects.for_user(user).filter(message=old).first()
        return message_send(
            user,
            old.session,
            text=text,
            surface=via,
            client_id=client_id,
            options=before.options if before else None,
            parent=old.parent,
            branched=True,
        )


def _sent_before(user: User, old: Message, client_id: str | None) -> tuple[Message, Run] | None:
    if not client_id:
        return None
    messages = Message.objects.for_user(user).filter(session=old.session_id, client_id=client_id)
    run = Run.objects.for_user(user).filter(message__in=messages).select_related("message").first()
    return (run.message, run) if run else None


def _return_to(user: User, old: Message) -> None:
    """Make the branch that leads to ``old`` the one in use, when another is."""
    if old.active:
        return
    placed = Message.objects.for_user(user).filter(session=old.session_id, placed=True)
    parents: dict[UUID, UUID | None] = dict(placed.values_list("pk", "parent_id")[:_FAR])
    way: list[UUID] = []
    step = old.parent_id
    while step is not None and step in parents:
        way.append(step)
        step = parents[step]
    placed.filter(active=True).exclude(pk__in=way).update(active=False)
    placed.filter(pk__in=way).update(active=True)
