"""What a client may say over the websocket: each action is one service, as in REST."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accounts.choices import TokenScope
from accounts.models import ApiToken, User
from agents.choices import OPEN
from agents.models import Run
from agents.services import message_send, run_cancel, run_steer
from gateway.api.permissions import holds
from hermes_site.lib.errors import Conflict, Denied, UserFacing
from memory.models import Session
from memory.selectors.session import session_of
from tools.services import approval_decide

VIA = "websocket"
_SEND = ("engine", "model", "mode")
_OPTIONS = {"skills": list, "explicitSkill": str, "files": list}


@dataclass(frozen=True)
class Caller:
    """Who acts, where, and with which token (None: a browser session)."""

    user: User
    session: Session
    token: ApiToken | None


def message_send_action(caller: Caller, data: dict[str, Any]) -> dict[str, Any]:
    options = {}
    for name, kind in _OPTIONS.items():
        if data.get(name) is not None:
            options[name] = _typed(data, name, kind)
    message, run = message_send(
        caller.user,
        caller.session,
        text=_typed(data, "text", str),
        surface=VIA,
        client_id=_typed(data, "client_id", str, "")[:100] or None,
        options=options,
        may_approve=holds(caller.token, TokenScope.APPROVE),
        **{name: _typed(data, name, str, "") for name in _SEND},
    )
    return {"message": str(message.pk), "run": str(run.pk), "client_id": message.client_id}


def approval_decide_action(caller: Caller, data: dict[str, Any]) -> dict[str, Any]:
    approval = approval_decide(
        caller.user,
        _typed(data, "id", str),
        decision=_typed(data, "decision", str),
        remember=_typed(data, "remember", str, "once"),
        arguments=_typed(data, "arguments", dict, None),
        reason=_typed(data, "reason", str, ""),
        via=VIA,
    )
    return {"id": str(approval.pk), "decision": approval.decision}


def run_cancel_action(caller: Caller, data: dict[str, Any]) -> dict[str, Any]:
    run = _run(caller, data)
    if not run_cancel(run, by=caller.user, via=VIA):
        raise Conflict(f"The run is {run.state}.", code="settled", extra={"state": run.state})
    return {"run": str(run.pk), "state": run.state}


def run_steer_action(caller: Caller, data: dict[str, Any]) -> dict[str, Any]:
    run = _run(caller, data)
    message = run_steer(caller.user, run, _typed(data, "text", str), via=VIA)
    return {"run": str(run.pk), "message": str(message.pk)}


def ping_action(caller: Caller, data: dict[str, Any]) -> dict[str, Any]:
    return {}


Action = Callable[[Caller, dict[str, Any]], dict[str, Any]]
# Each action with the scope that a token needs for it.
ACTIONS: dict[str, tuple[Action, str]] = {
    "message.send": (message_send_action, TokenScope.CHAT),
    "approval.decide": (approval_decide_action, TokenScope.APPROVE),
    "run.cancel": (run_cancel_action, TokenScope.CHAT),
    "run.steer": (run_steer_action, TokenScope.CHAT),
    "ping": (ping_action, TokenScope.READ),
}


def act(user: User, token: ApiToken | None, session_id: object, frame: Any) -> dict[str, Any]:
    """Do what a frame asks for. Raises ``PortalError``; the session and the scope are checked
    with every frame."""
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise UserFacing('A frame is a JSON object with a "type".')
    found = ACTIONS.get(frame["type"])
    if found is None:
        known = ", ".join(ACTIONS)
        raise UserFacing(f"Unknown type {frame['type'][:40]!r}. Use one of: {known}.")
    action, scope = found
    if not holds(token, scope):
        raise Denied(f"This token lacks the scope {scope!r}.", code="scope")
    session = session_of(user, session_id)
    data = frame.get("data")
    return action(Caller(user, session, token), data if isinstance(data, dict) else frame)


def _run(caller: Caller, data: dict[str, Any]) -> Run:
    """The run that ``run`` (or ``id``) names, or the session's open one when none is named."""
    runs = Run.objects.for_user(caller.user).filter(session=caller.session)
    id = data.get("run") or data.get("id")
    if id is None:
        open_run = runs.filter(state__in=OPEN).order_by("number").first()
        if open_run is None:
            raise Conflict("No run is open in this session.", code="settled")
        return open_run
    return runs.fetch(id)


def _typed(data: dict[str, Any], name: str, kind: type, default: Any = ...) -> Any:
    value = data.get(name)
    if value is None and default is not ...:
        return default
    if not isinstance(value, kind):
        raise UserFacing(f"{name} must be a {kind.__name__}.", extra={"field": name})
    return value
