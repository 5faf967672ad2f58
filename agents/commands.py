"""Messages that are commands: ``/help``, ``/stop`` … are answered at once, without a model.

``/tool`` and ``!`` are not among them: they are runs (``agents.direct``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from accounts.models import User
from accounts.selectors.limit import limits_left
from agents.accounts import check_choice, choose
from agents.choices import OPEN
from agents.direct import parse
from agents.models import Run
from agents.registry import ENGINES
from agents.services.cancel import run_cancel
from agents.services.steer import run_steer
from hermes_site.lib.errors import Denied, PortalError, UserFacing
from memory.models import Session
from memory.services import session_update
from tools.models import Approval
from tools.services import approval_decide


@dataclass(frozen=True)
class Here:
    """Where a command was said, and whether it may decide there."""

    user: User
    session: Session
    surface: str
    may_approve: bool = True


Answer = Callable[[Here, str], str]


def answer(here: Here, text: str) -> str | None:
    """The answer to a command, or None when ``text`` is not one that is answered at once."""
    parsed = parse(text)
    if parsed is None or parsed[0] in ("!", "tool"):
        return None
    name, rest = parsed
    command = COMMANDS.get(name)
    if command is None:
        return f"There is no command `/{name}`. `/help` lists them."
    try:
        return command[1](here, rest)
    except PortalError as error:
        return error.message


def _help(here: Here, rest: str) -> str:
    lines = [f"- `/{name}{' ' if usage else ''}{usage}`" for name, (usage, _) in COMMANDS.items()]
    return "\n".join(
        ["Commands:", *lines, "- `/tool NAME {json}`: call a tool", "- `!COMMAND`: run a command"]
    )


def _stop(here: Here, rest: str) -> str:
    runs = Run.objects.for_user(here.user).filter(session=here.session, state__in=OPEN)
    stopped = sum(run_cancel(run, by=here.user, via=here.surface) for run in runs)
    return f"Stopped {stopped} run(s)." if stopped else "Nothing is running here."


def _steer(here: Here, rest: str) -> str:
    runs = Run.objects.for_user(here.user).filter(session=here.session, state__in=OPEN)
    run = runs.order_by("number").first()
    if run is None:
        return "Nothing is running here."
    run_steer(here.user, run, rest, via=here.surface)
    return "Said to the run."


def _model(here: Here, rest: str) -> str:
    if rest:
        check_choice(rest)
        session_update(here.session, model=rest[:200])
    return f"Model: `{choose(here.session.model).label}`."


def _engine(here: Here, rest: str) -> str:
    if rest:
        if ENGINES.get(rest) is None:
            raise UserFacing(f"Engine {rest[:64]!r} is not one of {', '.join(ENGINES.all())}.")
        session_update(here.session, engine=rest)
    return f"Engine: `{here.session.engine or settings.HERMES_DEFAULT_ENGINE}`."


def _mode(here: Here, rest: str) -> str:
    if rest:
        session_update(here.session, mode=rest)
    return f"Mode: `{here.session.mode}`."


def _decide(decision: str) -> Answer:
    def decide(here: Here, rest: str) -> str:
        if not here.may_approve:
            raise Denied("This token lacks the scope 'approve'.", code="scope")
        pending = Approval.objects.for_user(here.user).pending().filter(session=here.session)
        named = [a for a in pending if rest and str(a.pk).endswith(rest)]
        chosen = named or (list(pending) if not rest else [])
        if len(chosen) != 1:
            listed = ", ".join(f"`{str(a.pk)[-8:]}` {a.tool}" for a in pending)
            return f"Say which: {listed}." if listed else "Nothing waits for you here."
        approval_decide(here.user, chosen[0].pk, decision=decision, via=here.surface)
        return f"{chosen[0].tool}: {decision}."

    return decide


def _usage(here: Here, rest: str) -> str:
    rows: list[dict[str, Any]] = limits_left(here.user)
    return "\n".join(
        f"- {row['action']}: {_number(row['left'])} of {_number(row['limit'])} left "
        f"in {row['seconds']} s"
        for row in rows
    )


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


# Name -> what follows it, and the answer.
COMMANDS: dict[str, tuple[str, Answer]] = {
    "help": ("", _help),
    "stop": ("", _stop),
    "steer": ("TEXT", _steer),
    "model": ("[ACCOUNT/MODEL]", _model),
    "engine": ("[NAME]", _engine),
    "mode": ("[ask|plan|code]", _mode),
    "approve": ("[ID]", _decide("allow")),
    "deny": ("[ID]", _decide("deny")),
    "usage": ("", _usage),
}
