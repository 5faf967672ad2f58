"""The end of a call: its result saved, clients told, its run continued when it was the last."""

from __future__ import annotations

from django.db import connection

from accounts.services import audit_record
from hermes_site.lib import clock, events
from memory.models import Attachment, Message
from memory.services import emit
from tools.choices import OPEN, CallState
from tools.models import ToolCall
from tools.services.waking import calls_wake
from tools.signals import calls_settled

# What of a result an event carries; the model and the row get more.
_EVENT_RESULT = 8_000


def call_settle(
    call: ToolCall,
    state: str,
    result: str,
    *,
    fence: int | None = None,
    attachment: Attachment | None = None,
) -> bool:
    """Bring an open call to its final state, in the caller's transaction; one caller wins.

    With ``fence`` only the holder of that lease may settle. Returns whether this call did.
    """
    if connection.vendor == "postgresql":
        # Siblings settle one after the other, so that the last one sees that it is the last.
        Message.objects.select_for_update().filter(pk=call.message_id).first()
    still_open = ToolCall.objects.filter(pk=call.pk, state__in=OPEN)
    if fence is not None:
        still_open = still_open.filter(fence=fence, state=CallState.RUNNING)
    won = still_open.update(
        state=state,
        result=result,
        attachment=attachment,
        finished_at=clock.now(),
        lease_until=None,
    )
    if not won:
        return False
    call.state = state
    emit(
        call.session_id,
        call.run_id,
        events.ToolCompleted(
            id=str(call.pk), name=call.name, status=state, result=result[:_EVENT_RESULT]
        ),
    )
    audit_record(
        f"tool.{state}",
        actor=call.user,
        target=call.pk,
        via=call.surface,
        data={
            "tool": call.name,
            "category": call.category,
            "outcome": call.outcome,
            "digest": call.digest,
            "run": call.run_id,
        },
    )
    calls_wake(call.message_id)
    if not ToolCall.objects.filter(run_id=call.run_id, state__in=OPEN).exists():
        calls_settled.send(sender=ToolCall, run_id=call.run_id)
    return True
