"""Accepting, placing and saving messages. All of it runs inside the caller's transaction."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from accounts.models import User
from hermes_site.lib.events import MessageCompleted
from hermes_site.lib.statements import Insert, prepared, run
from hermes_site.lib.text import title_from
from memory.choices import MessageState, Role
from memory.models import Message, Session
from memory.services.event import emit
from memory.services.session import position_take

_insert = Insert(Message)
# Chinese takes three bytes a character; an event is at most 64 KB.
_EVENT_TEXT = 16_000


def message_accept(
    session: Session,
    *,
    text: str,
    run_id: UUID,
    client_id: str | None = None,
    platform: str = "web",
    metadata: dict[str, Any] | None = None,
    parent: Message | None = None,
    branched: bool = False,
    placed: bool = False,
) -> Message:
    """Store a user's message; it is ``placed`` when its run starts (steering: at once). The
    caller tells of it with ``message_event``."""
    title = "" if session.title else title_from(text)
    message = Message(
        user_id=session.user_id,
        session=session,
        run_id=run_id,
        position=position_take(session.pk, messages=1, title=title),
        placed=placed,
        parent=parent,
        branched=branched,
        role=Role.USER,
        text=text,
        client_id=client_id,
        platform=platform,
        metadata=metadata or {},
    )
    _insert(message)
    session.title = session.title or title
    return message


def message_place(message: Message) -> None:
    """Put a queued message at the end of the session, now that its run starts."""
    if message.placed:
        return
    moves = message.session.next_position != message.position + 1
    if moves:
        message.position = position_take(message.session_id)
    message.placed = True
    if message.branched:
        _branch_off(message)
        message.save(update_fields=["placed", "position"])
    else:
        place = prepared(
            Message, position=message.position, session=message.session_id, id=message.pk
        )
        run(_PLACE, [place["position"], place["session"], place["id"]])
    if moves:
        emit(message.session_id, message.run_id, message_event(message))


# It follows the newest message of the active branch.
_PLACE = """
UPDATE memory_message SET placed = TRUE, position = %s, parent_id = (
  SELECT id FROM memory_message WHERE session_id = %s AND active AND placed
  ORDER BY position DESC LIMIT 1)
WHERE id = %s
"""


def _last(session_id: UUID) -> UUID | None:
    """The message that the next one follows."""
    placed = Message.objects.filter(session_id=session_id, active=True, placed=True)
    return placed.order_by("-position").values_list("pk", flat=True).first()


def _branch_off(message: Message) -> None:
    """Everything after the parent leaves the active branch; it stays reachable."""
    after = message.parent.position if message.parent else 0
    Message.objects.filter(
        session_id=message.session_id, active=True, placed=True, position__gt=after
    ).exclude(pk=message.pk).update(active=False)


def answer_save(
    *,
    id: UUID,
    session_id: UUID,
    user: User | UUID,
    run_id: UUID,
    text: str,
    state: str = MessageState.COMPLETED,
    reasoning: str = "",
    model: str = "",
    tokens: int = 0,
    parent_id: UUID | None = None,
) -> Message:
    """Store an assistant message under the id that its stream was sent with, after ``parent_id``
    or the newest message. The caller tells of it with ``message_event``."""
    message = Message(
        id=id,
        user_id=user.pk if isinstance(user, User) else user,
        session_id=session_id,
        run_id=run_id,
        parent_id=parent_id or _last(session_id),
        position=position_take(session_id, messages=1),
        role=Role.ASSISTANT,
        text=text,
        reasoning=reasoning,
        state=state,
        model=model,
        tokens=tokens,
    )
    _insert(message)
    return message


def message_event(message: Message) -> MessageCompleted:
    """How the message now stands, for clients."""
    return MessageCompleted(
        message=str(message.pk),
        role=message.role,
        text=message.text[:_EVENT_TEXT],
        state=message.state,
        position=message.position,
        client_id=message.client_id,
        model=message.model,
        truncated=len(message.text) > _EVENT_TEXT,
    )
