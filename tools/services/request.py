"""From what the model asked to rows: each call validated, judged, and asked about or woken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings

from accounts.models import User
from hermes_site.lib import clock, events
from hermes_site.lib.errors import ModelRecoverable
from hermes_site.lib.text import clean_json, visible
from memory.models import Message
from memory.services import emit
from tools.arguments import digest, validate
from tools.choices import CallState, Category, Outcome
from tools.declare import Tool
from tools.models import Approval, ToolCall
from tools.policy import CallFacts, Decision, PolicyRows
from tools.registry import TOOLS
from tools.selectors.policy import decide, policy_rows
from tools.services.settle import call_settle
from tools.services.waking import calls_wake

# What of an argument a card shows in the event; the row has the whole (GET approvals/{id}).
_SHOWN = 6_000


@dataclass(frozen=True)
class CallOrigin:
    """Where calls come from: the run with its user, door and mode."""

    user: User
    session_id: UUID
    run_id: UUID
    surface: str
    mode: str


@dataclass(frozen=True)
class AskedCall:
    """A call as the model wrote it. ``error`` is set when it could not be read; ``repaired``
    when its JSON had to be mended."""

    id: str
    name: str
    arguments: dict[str, Any]
    error: str | None = None
    repaired: bool = False


def calls_request(origin: CallOrigin, message: Message, asked: list[AskedCall]) -> list[ToolCall]:
    """Store the calls of one answer and set each on its way; inside the caller's transaction.

    A call that cannot run (unknown tool, bad arguments, refused) is settled here, and the
    others go on.
    """
    rows = policy_rows(origin.user, origin.session_id)
    calls = [_request(origin, message, index, call, rows) for index, call in enumerate(asked)]
    calls_wake(message.pk)
    return calls


def _request(
    origin: CallOrigin, message: Message, index: int, asked: AskedCall, rows: PolicyRows
) -> ToolCall:
    tool = TOOLS.get(asked.name)
    try:
        arguments = _checked(tool, asked)
    except ModelRecoverable as error:
        call = _create(origin, message, index, asked, _unjudged(asked), _refusal(error.message))
        call_settle(call, CallState.FAILED, error.message)
        return call
    assert tool is not None
    decision, facts = decide(
        origin.user, tool, arguments, surface=origin.surface, mode=origin.mode, rows=rows
    )
    call = _create(origin, message, index, asked, facts, decision)
    if decision.outcome == Outcome.DENY:
        call_settle(call, CallState.DENIED, f"Refused by policy: {decision.why}")
    elif decision.outcome == Outcome.CONFIRM:
        approval_ask(call, tool)
    return call


def _checked(tool: Tool | None, asked: AskedCall) -> dict[str, Any]:
    if asked.error:
        raise ModelRecoverable(f"The call could not be read: {asked.error}")
    if tool is None:
        raise ModelRecoverable(f"There is no tool named {asked.name[:64]!r}.")
    if asked.repaired and tool.category != Category.READ:
        raise ModelRecoverable("The arguments were not valid JSON. Send the call again.")
    return validate(tool, asked.arguments)


def approval_ask(call: ToolCall, tool: Tool) -> Approval:
    """Open the question for a call that needs a yes."""
    approval = Approval.objects.create(
        user_id=call.user_id,
        session_id=call.session_id,
        tool_call=call,
        run_id=call.run_id,
        tool=call.name,
        category=call.category,
        arguments=call.arguments,
        command=visible(str(call.arguments.get("command", ""))),
        digest=call.digest,
        why=call.why,
        expires_at=clock.in_seconds(settings.HERMES_APPROVAL_SECONDS),
    )
    call.state = CallState.WAITING
    call.save(update_fields=["state"])
    emit(
        call.session_id,
        call.run_id,
        events.PermissionRequest(
            id=str(approval.pk),
            call=str(call.pk),
            tool=call.name,
            category=call.category,
            arguments=shown(call.arguments),
            command=approval.command[:_SHOWN],
            expires_at=clock.iso(approval.expires_at) or "",
            why=call.why,
        ),
    )
    return approval


def shown(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments for a card: invisible characters made visible, very long values cut with a note
    of how much is missing."""
    return {
        visible(key): _shown(value, _SHOWN // max(1, len(arguments)))
        for key, value in arguments.items()
    }


def _shown(value: Any, limit: int) -> Any:
    if isinstance(value, list | dict) and len(repr(value)) <= limit:
        if isinstance(value, list):
            return [_shown(item, limit) for item in value]
        return {visible(key): _shown(item, limit) for key, item in value.items()}
    if not isinstance(value, str):
        text = repr(value)
        return value if len(text) <= limit else f"{visible(text[:limit])}…"
    if len(value) <= limit:
        return visible(value)
    return f"{visible(value[:limit])}… ({len(value) - limit:,} more characters)"


def _create(
    origin: CallOrigin,
    message: Message,
    index: int,
    asked: AskedCall,
    facts: CallFacts,
    decision: Decision,
) -> ToolCall:
    call = ToolCall.objects.create(
        user=origin.user,
        session_id=origin.session_id,
        message=message,
        run_id=origin.run_id,
        index=index,
        provider_id=str(clean_json(asked.id))[:200],
        name=facts.tool,
        arguments=facts.arguments,
        digest=facts.digest,
        category=facts.category,
        outcome=decision.outcome,
        why=decision.why[:500],
        trace=[list(step) for step in decision.trace],
        surface=origin.surface,
        mode=origin.mode,
    )
    emit(
        origin.session_id,
        origin.run_id,
        events.ToolRequested(
            id=str(call.pk),
            message=str(message.pk),
            name=call.name,
            category=call.category,
            arguments=shown(call.arguments),
            outcome=call.outcome,
            why=call.why,
        ),
    )
    return call


def _unjudged(asked: AskedCall) -> CallFacts:
    name = str(clean_json(asked.name))[:128]
    arguments = clean_json(asked.arguments)
    arguments = arguments if isinstance(arguments, dict) else {}
    return CallFacts(name, Category.SYSTEM, arguments, digest(name, arguments))


def _refusal(why: str) -> Decision:
    return Decision(Outcome.DENY, (("invalid", str(Outcome.DENY), why[:500]),))
