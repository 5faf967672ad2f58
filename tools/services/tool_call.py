"""Taking, keeping and ending the execution of a call."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F

from accounts.models import User
from accounts.services import limit_take
from accounts.services.limit import RateLimited
from hermes_site.lib import clock, events
from hermes_site.lib.faults import fault
from memory.models import Attachment, Message
from memory.services import emit
from tools.choices import OPEN, ApprovalDecision, CallState, Category, Outcome
from tools.declare import Tool
from tools.models import Approval, ToolCall
from tools.registry import TOOLS
from tools.selectors.policy import decide
from tools.services.approval import approvals_cancel
from tools.services.request import approval_ask
from tools.services.settle import call_settle
from tools.services.waking import held_up


def call_claim(id: UUID) -> tuple[ToolCall, Tool] | None:
    """Take a pending call for execution, or settle it when it may no longer run.

    The policy is asked again, so that a permission withdrawn since then bites; a yes is
    consumed here, once. Returns None when there is nothing to run.
    """
    with transaction.atomic():
        call = _locked(id)
        if call is None or call.state != CallState.PENDING:
            return None
        siblings = list(ToolCall.objects.filter(message_id=call.message_id))
        if held_up(call, siblings):
            return None
        tool = TOOLS.get(call.name)
        if tool is None or not call.user.is_active:
            call_settle(call, CallState.DENIED, "Refused: the tool or the user is switched off.")
            return None
        if not _may_run(call, tool) or not _within_limit(call):
            return None
        _start(call)
    fault("tool_started")
    return call, tool


def _locked(id: UUID) -> ToolCall | None:
    """The call, its answer's row locked so that siblings are claimed one after the other."""
    call = ToolCall.objects.select_related("user").filter(pk=id).first()
    if call and connection.vendor == "postgresql":
        Message.objects.select_for_update().filter(pk=call.message_id).first()
        call.refresh_from_db(fields=["state", "fence", "attempts", "arguments", "digest"])
    return call


def _may_run(call: ToolCall, tool: Tool) -> bool:
    """The policy as it stands now; consumes the yes where one is needed."""
    decision, facts = decide(
        call.user,
        tool,
        call.arguments,
        surface=call.surface,
        mode=call.mode,
        session_id=call.session_id,
    )
    if facts.category != call.category:
        # Rules, or what it touches, may have changed since; the card and a restart go by this.
        call.category = facts.category
        call.save(update_fields=["category"])
    if decision.outcome == Outcome.AUTO:
        return True
    if decision.outcome == Outcome.CONFIRM:
        if _consume(call, facts.digest):
            return True
        if not Approval.objects.filter(tool_call=call).exists():
            call.outcome, call.why = decision.outcome, decision.why[:500]
            call.save(update_fields=["outcome", "why"])
            approval_ask(call, tool)
            return False
    call_settle(call, CallState.DENIED, f"Refused by policy: {decision.why}")
    return False


def _consume(call: ToolCall, digest: str) -> bool:
    """Use up the yes for exactly these arguments. A reading call that starts again after its
    worker died may lean on the yes that it consumed itself."""
    given = Approval.objects.filter(
        tool_call=call, decision=ApprovalDecision.ALLOW, digest=digest, user_id=call.user_id
    )
    if given.filter(consumed_at=None).update(consumed_at=clock.now()):
        return True
    return call.attempts > 0 and call.category == Category.READ and given.exists()


def _within_limit(call: ToolCall) -> bool:
    if call.attempts:
        return True  # counted when it started first

    def count(since: Any) -> float:
        return ToolCall.objects.filter(user_id=call.user_id, started_at__gte=since).count()

    try:
        limit_take(call.user, "tool_call", count_rows=count)
    except RateLimited as error:
        call_settle(call, CallState.DENIED, error.message)
        return False
    return True


def _start(call: ToolCall) -> None:
    now = clock.now()
    call.fence, call.attempts, call.state = call.fence + 1, call.attempts + 1, CallState.RUNNING
    ToolCall.objects.filter(pk=call.pk).update(
        state=call.state,
        fence=call.fence,
        attempts=call.attempts,
        started_at=call.started_at or now,
        lease_until=clock.in_seconds(settings.HERMES_LEASE),
    )
    emit(call.session_id, call.run_id, events.ToolStarted(id=str(call.pk), name=call.name))


def call_renew(id: UUID, fence: int) -> bool:
    """Keep the lease of a running call; False when it was cancelled or taken over."""
    return bool(
        ToolCall.objects.filter(pk=id, fence=fence, state=CallState.RUNNING).update(
            lease_until=clock.in_seconds(settings.HERMES_LEASE)
        )
    )


def call_finish(
    call: ToolCall, state: str, result: str, *, attachment: Attachment | None = None
) -> bool:
    """Save the result of a call that ran; False when its lease was lost meanwhile."""
    fault("tool_before_save")
    with transaction.atomic():
        saved = call_settle(call, state, result, fence=call.fence, attachment=attachment)
    fault("tool_after_save")
    return saved


def calls_cancel(run_id: UUID, *, by: User | None, via: str) -> None:
    """End every open call of a run, in the caller's transaction; the run goes on nowhere."""
    approvals_cancel(run_id, by=by, via=via)
    for call in ToolCall.objects.filter(run_id=run_id, state__in=OPEN).select_related("user"):
        ToolCall.objects.filter(pk=call.pk).update(fence=F("fence") + 1)
        call_settle(call, CallState.CANCELLED, "Cancelled by the user.")
