"""Taking, keeping and giving back the right to work on a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F

from accounts.choices import LimitAction
from accounts.services import limit_take
from agents.accounts import ModelChoice
from agents.choices import TURN, RunState
from agents.direct import direct_call
from agents.loop import Answer, TurnState, signature
from agents.models import Run
from agents.providers.base import ModelRequest, ToolCallPart
from agents.selectors.context import request_for
from hermes_site.lib import clock, events
from hermes_site.lib.errors import PortalError
from hermes_site.lib.faults import fault
from hermes_site.lib.ids import new_id
from hermes_site.lib.select import Select
from hermes_site.lib.statements import prepared
from hermes_site.lib.statements import run as execute
from hermes_site.lib.wake import wake
from memory.models import Message
from memory.services import emit, message_place
from tools.models import ToolCall
from tools.services.request import AskedCall


@dataclass(frozen=True)
class Lease:
    """A run that this worker holds: every write names ``fence``."""

    run: Run
    fence: int
    attempt: int


@dataclass(frozen=True)
class Work:
    """All that a turn needs; or the ``error`` that ends the run before the model is asked, or
    the answer of a ``direct`` call, which needs no model."""

    lease: Lease
    choice: ModelChoice | None
    request: ModelRequest | None
    state: TurnState
    error: PortalError | None = None
    direct: Answer | None = None


def run_begin(id: UUID, owner: str) -> Work | None:
    """Take the lease of a run that is due and read what its turn needs, or None when it is not
    this run's time: held by another, settled, or behind another run of its session."""
    lease = _take(id, owner)
    if lease is None:
        return None
    fault("lease_taken")
    run = lease.run
    if asked := direct_call(run.message.text):
        return Work(lease, None, None, TurnState(run.step), direct=_direct(run, asked))
    try:
        # One token is taken ahead: it says whether the budget is used up.
        limit_take(run.user, LimitAction.TOKENS)
        choice, request = request_for(run)
    except PortalError as error:
        return Work(lease, None, None, TurnState(), error)
    return Work(lease, choice, request, TurnState(run.step, _recent_calls(run)))


def _direct(run: Run, asked: AskedCall) -> Answer:
    """What a model would have answered: first the call, then what it gave."""
    if run.step == 0:
        part = ToolCallPart(asked.id, asked.name, asked.arguments, asked.error)
        return Answer(calls=[part])
    call = ToolCall.objects.filter(run_id=run.pk).order_by("created_at").first()
    return Answer(text=call.result if call else "")


# One statement decides: due, queued or with a dead lease, and first in its session.
_TAKE = """
UPDATE agents_run SET state = 'running', fence = fence + 1, attempts = attempts + 1,
  lease_until = %s, lease_owner = %s, started_at = COALESCE(started_at, %s)
WHERE id = %s AND due_at <= %s
  AND (state = 'queued' OR (state = 'running' AND lease_until < %s))
  AND NOT EXISTS (
    SELECT 1 FROM agents_run other
    WHERE other.session_id = agents_run.session_id AND other.id <> agents_run.id
      AND (other.state IN ('running', 'waiting')
        OR (other.state = 'queued' AND other.number < agents_run.number)))
"""


_run = Select(lambda id: Run.objects.select_related("user", "session", "message").filter(pk=id))


def _take(id: UUID, owner: str) -> Lease | None:
    now = clock.now()
    until = now + timedelta(seconds=settings.HERMES_LEASE)
    put = prepared(Run, id=id, lease_until=until, due_at=now)
    moment = put["due_at"]
    values = [put["lease_until"], owner, moment, put["id"], moment, moment]
    try:
        with transaction.atomic():
            if not execute(_TAKE, values):
                return None
            (run,) = _run(id)
            if not run.user.is_active:
                _refuse_disabled(run)
                return None
            if not run.message.placed:
                _first_turn(run)
    except IntegrityError:
        return None  # two runs of one session at once: the other was first
    return Lease(run, run.fence, run.attempts)


def _first_turn(run: Run) -> None:
    started = events.RunStarted(
        message=str(run.message_id),
        engine=run.engine,
        model=run.model,
        branched=run.message.branched,
    )
    run.message.session = run.session
    message_place(run.message)
    emit(run.session_id, run.pk, started)


def _refuse_disabled(run: Run) -> None:
    run.state, run.finished_at, run.lease_until = RunState.CANCELLED, clock.now(), None
    run.save(update_fields=["state", "finished_at", "lease_until"])
    emit(run.session_id, run.pk, events.RunCancelled())


def _recent_calls(run: Run) -> tuple[str, ...]:
    """The calls of the run's last turns, for seeing an endless loop."""
    if not run.step:
        return ()
    turns = Message.objects.filter(run_id=run.pk, role="assistant").order_by("-position")[:3]
    calls: dict[UUID, list[ToolCallPart]] = {turn.pk: [] for turn in reversed(turns)}
    for call in ToolCall.objects.filter(message__in=list(calls)).order_by("index"):
        calls[call.message_id].append(ToolCallPart("", call.name, call.arguments))
    return tuple(signature(asked) for asked in calls.values())


def runs_renew(held: dict[UUID, int]) -> set[UUID]:
    """Keep the leases of this process in one transaction; returns the runs that were lost."""
    with transaction.atomic():
        rows = Run.objects.filter(pk__in=list(held), state=RunState.RUNNING)
        kept = {id for id, fence in rows.values_list("pk", "fence") if held[id] == fence}
        Run.objects.filter(pk__in=kept).update(lease_until=clock.in_seconds(settings.HERMES_LEASE))
    return set(held) - kept


def run_hand_back(lease: Lease) -> None:
    """Return an unfinished turn, at shutdown: queued again, and another worker woken."""
    back = Run.objects.filter(pk=lease.run.pk, fence=lease.fence, state=RunState.RUNNING).update(
        state=RunState.QUEUED,
        lease_until=None,
        attempts=F("attempts") - 1,
        answer_id=new_id(),
        woken_at=clock.now(),
    )
    if back:
        wake(TURN, lease.run.pk)
