"""The sweeper: finds what a lost wake-up or a dead worker left behind. Safe to run anywhere,
any number of times: every step is decided by a conditional UPDATE."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef

from agents.choices import TURN, RunState
from agents.models import Run
from agents.services.turn import run_resume, wake_next
from hermes_site.lib import clock, events
from hermes_site.lib.ids import new_id
from hermes_site.lib.wake import wake
from memory.services import emit
from memory.services.event import events_republish
from tools.choices import OPEN
from tools.models import ToolCall
from tools.services import approvals_expire, calls_recover

log = logging.getLogger(__name__)

# Seconds after which a queued run's wake-up counts as lost.
REWAKE = 4
# Leases that may end without a saved step before the run is given up.
MAX_ATTEMPTS = 5


def sweep() -> dict[str, int]:
    """One round; returns what was found, by kind."""
    return {
        "dead": sum(_revive(run) for run in _dead()),
        "late": _wake_late(),
        "resumed": _resume_waiting(),
        "expired": approvals_expire(),
        "calls": calls_recover(),
        "events": events_republish(),
    }


def _dead() -> list[Run]:
    return list(Run.objects.filter(state=RunState.RUNNING, lease_until__lt=clock.now())[:200])


def _revive(run: Run) -> bool:
    """Queue a run whose worker died, or give it up when that happened too often."""
    held = Run.objects.filter(
        pk=run.pk, fence=run.fence, state=RunState.RUNNING, lease_until__lt=clock.now()
    )
    log.warning("turn_worker_died run=%s attempts=%d", run.pk, run.attempts)
    if run.attempts < MAX_ATTEMPTS:
        revived = held.update(
            state=RunState.QUEUED, lease_until=None, woken_at=clock.now(), due_at=clock.now()
        )
        if revived:
            wake(TURN, run.pk)
        return bool(revived)
    with transaction.atomic():
        message = f"The worker died {run.attempts} times while working on this run."
        given_up = held.update(
            state=RunState.FAILED,
            fence=F("fence") + 1,
            lease_until=None,
            answer_id=new_id(),
            finished_at=clock.now(),
            error_code="worker_lost",
            error_message=message,
        )
        if given_up:
            emit(run.session_id, run.pk, events.RunFailed(code="worker_lost", message=message))
            wake_next(run.session_id)
    return bool(given_up)


def _wake_late() -> int:
    """Wake queued runs again whose wake-up seems lost; those behind another run may sleep on,
    but waking them does no harm."""
    now = clock.now()
    late = Run.objects.filter(
        state=RunState.QUEUED, due_at__lte=now, woken_at__lt=now - timedelta(seconds=REWAKE)
    )
    ids = list(late.order_by("number").values_list("pk", flat=True)[:500])
    Run.objects.filter(pk__in=ids).update(woken_at=now)
    for id in ids:
        wake(TURN, id)
    return len(ids)


def _resume_waiting() -> int:
    """Continue waiting runs none of whose calls is open: their waker died in between."""
    open_calls = ToolCall.objects.filter(run_id=OuterRef("pk"), state__in=OPEN)
    stuck = Run.objects.filter(~Exists(open_calls), state=RunState.WAITING)
    resumed = 0
    for id in stuck.values_list("pk", flat=True)[:200]:
        with transaction.atomic():
            resumed += run_resume(id)
    return resumed
