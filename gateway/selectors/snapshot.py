"""A session as it stands, for clients that have nothing, or lost their place."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from redis.exceptions import RedisError

from accounts.models import User
from agents.choices import ACTIVE, OPEN
from agents.models import Run
from gateway.selectors.shapes import (
    approval_shape,
    call_shape,
    message_shape,
    run_shape,
    session_shape,
)
from hermes_site.lib import clock, events
from hermes_site.lib.redis import client, partial_key, stream_key
from memory.models import Message, Session
from tools.models import Approval, ToolCall

# The newest messages that a snapshot holds; older ones are fetched page by page.
MESSAGES = 50


def snapshot(user: User, session_id: UUID) -> tuple[int, dict[str, Any]]:
    """``(seq, data)`` of a session of ``user``. Raises ``NotFound``.

    The number is read before the rows: what happens in between is in both, and events are
    idempotent; nothing can be in neither.
    """
    session = Session.objects.for_user(user).fetch(session_id)
    runs = list(
        Run.objects.for_user(user).filter(session=session, state__in=OPEN).order_by("number")
    )
    active = next((run for run in runs if run.state in ACTIVE), runs[0] if runs else None)
    seq, text = _place(session_id, active.answer_id if active else None)
    messages = list(
        Message.objects.for_user(user)
        .filter(session=session, active=True)
        .order_by("-position")[:MESSAGES]
    )[::-1]
    calls = ToolCall.objects.for_user(user).filter(message__in=[m.pk for m in messages])
    pending = Approval.objects.for_user(user).pending().filter(session=session)
    done = {message.pk for message in messages}
    live = active and text and active.answer_id not in done
    return seq, {
        "session": session_shape(session),
        "messages": [message_shape(message) for message in messages],
        "tool_calls": [call_shape(call) for call in calls.order_by("created_at", "index")],
        "approvals": [approval_shape(approval) for approval in pending.order_by("id")],
        "run": run_shape(active) if active else None,
        "queued": [str(run.pk) for run in runs if run is not active],
        "live": {"message": str(active.answer_id), "text": text} if live and active else None,
    }


def live_text(session_id: UUID, message_id: UUID) -> str:
    """The text so far of a message that is being streamed; empty when there is none."""
    try:
        kept: Any = client().get(partial_key(session_id, message_id))
    except RedisError:
        return ""
    return (kept or b"").decode(errors="replace")


def current_seq(session_id: UUID) -> int:
    """The number of the session's newest event."""
    return _place(session_id, None)[0]


def _place(session_id: UUID, message_id: UUID | None) -> tuple[int, str]:
    """The newest event's number and, at that very moment, the live text of a message."""
    try:
        pipe = client().pipeline(transaction=True)
        pipe.xrevrange(stream_key(session_id), count=1)
        pipe.get(partial_key(session_id, message_id or ""))
        newest, text = pipe.execute()
    except RedisError:
        newest, text = [], None
    # An empty stream: anything that comes will have a later millisecond than now.
    seq = events.seq_of(newest[0][0]) if newest else int(clock.now().timestamp() * 1000) << 10
    return seq, (text or b"").decode(errors="replace")
