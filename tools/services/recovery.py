"""What the sweeper does for calls whose wake-up or worker was lost."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import transaction
from django.db.models import F

from hermes_site.lib import clock
from hermes_site.lib.wake import wake
from tools.choices import CallState, Category
from tools.models import ToolCall
from tools.services.settle import call_settle
from tools.services.waking import EXECUTE

log = logging.getLogger(__name__)

# Seconds after which a pending call's wake-up counts as lost.
REWAKE = 4
MAX_ATTEMPTS = 3
UNKNOWN = (
    "The outcome is not known: the worker died while this call was running. It was NOT repeated. "
    "Check what happened before you try again."
)


def calls_recover(limit: int = 200) -> int:
    """Wake pending calls again and deal with those whose worker died. Returns how many."""
    now = clock.now()
    dead = ToolCall.objects.filter(state=CallState.RUNNING, lease_until__lt=now)
    buried = list(dead.select_related("user")[:limit])
    for call in buried:
        _bury(call)
    late = ToolCall.objects.filter(
        state=CallState.PENDING, woken_at__lt=now - timedelta(seconds=REWAKE)
    )
    ids = list(late.values_list("pk", flat=True)[:limit])
    ToolCall.objects.filter(pk__in=ids).update(woken_at=now)
    for id in ids:
        wake(EXECUTE, id)
    return len(buried) + len(ids)


def _bury(call: ToolCall) -> None:
    """Reading is run again, a few times; anything else may have happened and is not repeated."""
    log.warning("tool_worker_died call=%s tool=%s category=%s", call.pk, call.name, call.category)
    held = ToolCall.objects.filter(
        pk=call.pk, fence=call.fence, state=CallState.RUNNING, lease_until__lt=clock.now()
    )
    with transaction.atomic():
        if call.category == Category.READ and call.attempts < MAX_ATTEMPTS:
            again = held.update(
                state=CallState.PENDING,
                fence=F("fence") + 1,
                lease_until=None,
                woken_at=clock.now(),
            )
            if again:
                transaction.on_commit(lambda: wake(EXECUTE, call.pk))
        elif held.update(fence=F("fence") + 1):
            state = CallState.FAILED if call.category == Category.READ else CallState.UNKNOWN
            died = "The worker died three times while running this call."
            call_settle(call, state, died if call.category == Category.READ else UNKNOWN)
