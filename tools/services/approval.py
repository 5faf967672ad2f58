"""Answering the question whether a call may run: by a person, once, in time."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.models import User
from accounts.services import audit_record
from hermes_site.lib import clock, events
from hermes_site.lib.errors import (
    Conflict,
    Denied,
    ModelRecoverable,
    NotFound,
    PortalError,
    UserFacing,
)
from hermes_site.lib.faults import fault
from hermes_site.lib.text import clean, preview, visible
from memory.services import emit, session_hold
from tools.arguments import validate
from tools.choices import ApprovalDecision, CallState, Category, Outcome, Remember
from tools.models import Approval, Grant, ToolCall
from tools.registry import TOOLS
from tools.selectors.policy import decide
from tools.services.settle import call_settle
from tools.services.waking import calls_wake


def approval_decide(
    user: User,
    id: object,
    *,
    decision: str,
    via: str,
    remember: str = "once",
    arguments: dict[str, Any] | None = None,
    reason: str = "",
) -> Approval:
    """Settle a pending approval of ``user``. ``arguments`` replaces those of the call: they are
    validated and judged anew, and the model is told.

    Raises ``NotFound`` for anybody else's, ``Conflict`` with the final state when it is settled
    or expired, ``UserFacing`` for bad input.
    """
    approval = Approval.objects.for_user(user).select_related("tool_call").fetch(id)
    if decision not in (ApprovalDecision.ALLOW, ApprovalDecision.DENY):
        raise UserFacing(f"decision {decision!r} is not one of allow, deny.")
    if remember not in Remember.values:
        raise UserFacing(f"remember {remember!r} is not one of {', '.join(Remember.values)}.")
    reason = clean(reason)[:500]
    changes: dict[str, Any] = {}
    if decision == ApprovalDecision.ALLOW:
        changes = _allowed_changes(user, approval, arguments)
    with transaction.atomic():
        session_hold(approval.session_id)
        now = clock.now()
        won = Approval.objects.filter(pk=approval.pk, decision=None, expires_at__gt=now).update(
            decision=decision,
            decided_at=now,
            decided_by=user,
            via=via,
            reason=reason,
            remember=remember,
            **changes,
        )
        if not won:
            raise _settled(approval)
        fault("approval_decided")
        approval.refresh_from_db()
        _apply(approval, user, remember)
        _tell(approval, user)
    fault("approval_committed")
    return approval


def _allowed_changes(
    user: User, approval: Approval, arguments: dict[str, Any] | None
) -> dict[str, Any]:
    """Fields of the approval when the person edited the arguments."""
    if arguments is None or arguments == approval.arguments:
        return {}
    tool, call = TOOLS.get(approval.tool), approval.tool_call
    if tool is None:
        raise Denied(f"The tool {approval.tool!r} is gone.")
    try:
        checked = validate(tool, arguments)
    except ModelRecoverable as error:
        raise UserFacing(error.message, code="invalid_arguments") from error
    judged, facts = decide(
        user, tool, checked, surface=call.surface, mode=call.mode, session_id=call.session_id
    )
    if judged.outcome == Outcome.DENY:
        raise Denied(f"The changed call is refused by policy: {judged.why}")
    return {
        "arguments": checked,
        "digest": facts.digest,
        "category": facts.category,
        "command": visible(str(checked.get("command", ""))),
        "edited": True,
    }


def _settled(approval: Approval) -> PortalError:
    try:
        approval.refresh_from_db()
    except Approval.DoesNotExist:
        return NotFound(f"No approval with id {approval.pk}: its session was deleted.")
    state = approval.decision or ApprovalDecision.EXPIRED
    return Conflict(
        f"This approval is settled: {state}.",
        code="expired" if state == ApprovalDecision.EXPIRED else "settled",
        extra={
            "decision": state,
            "via": approval.via,
            "decided_at": clock.iso(approval.decided_at),
        },
    )


def _apply(approval: Approval, user: User, remember: str) -> None:
    """Carry the decision over to the call, which must still be waiting for it."""
    call = approval.tool_call
    if approval.decision == ApprovalDecision.DENY:
        said = f" Reason: {approval.reason}" if approval.reason else ""
        if not call_settle(call, CallState.DENIED, f"The user denied this call.{said}"):
            raise _settled(approval)
        return
    freed = ToolCall.objects.filter(pk=call.pk, state=CallState.WAITING).update(
        state=CallState.PENDING,
        arguments=approval.arguments,
        digest=approval.digest,
        category=approval.category,
        woken_at=clock.now(),
    )
    if not freed:
        raise _settled(approval)
    # Money is asked about every time.
    if remember != Remember.ONCE and approval.category != Category.FINANCE:
        Grant.objects.create(
            user=user,
            session_id=approval.session_id if remember == Remember.SESSION else None,
            tool=approval.tool,
            digest=approval.digest,
            shown=preview(approval.command or visible(str(approval.arguments)), 500),
        )
    calls_wake(call.message_id)


def approvals_expire(limit: int = 200) -> int:
    """Silence means no: settle what nobody answered in time. Returns how many."""
    due = Approval.objects.filter(decision=None, expires_at__lte=clock.now())
    expired = 0
    for approval in due.select_related("tool_call__user").order_by("expires_at")[:limit]:
        with transaction.atomic():
            if _close(approval, ApprovalDecision.EXPIRED, by=None, via="system"):
                call_settle(
                    approval.tool_call,
                    CallState.EXPIRED,
                    "No answer in time: nobody confirmed, so the call was not run.",
                )
                expired += 1
    return expired


def approvals_cancel(run_id: UUID, *, by: User | None, via: str) -> None:
    """Close the open questions of a run, in the caller's transaction."""
    for approval in Approval.objects.filter(run_id=run_id, decision=None):
        _close(approval, ApprovalDecision.CANCELLED, by=by, via=via)


def _close(approval: Approval, decision: str, *, by: User | None, via: str) -> bool:
    won = Approval.objects.filter(pk=approval.pk, decision=None).update(
        decision=decision, decided_at=clock.now(), decided_by=by, via=via
    )
    if won:
        approval.decision, approval.via = decision, via
        _tell(approval, by)
    return bool(won)


def _tell(approval: Approval, by: User | None) -> None:
    emit(
        approval.session_id,
        approval.run_id,
        events.PermissionResolved(
            id=str(approval.pk),
            call=str(approval.tool_call_id),
            decision=str(approval.decision),
            by=by.get_short_name() if by else None,
            via=approval.via,
        ),
    )
    audit_record(
        f"approval.{approval.decision}",
        actor=by or "system",
        target=approval.pk,
        via=approval.via,
        data={
            "tool": approval.tool,
            "call": approval.tool_call_id,
            "digest": approval.digest,
            "edited": approval.edited,
            "remember": approval.remember,
        },
    )
