"""The end of a turn: the answer and its calls saved, the run finished or left waiting."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from accounts.services import limit_spend
from agents.choices import ACTIVE, TURN, RunState
from agents.loop import Answer
from agents.models import Run
from agents.services.lease import Lease
from agents.signals import run_finished
from hermes_site.lib import clock, events
from hermes_site.lib.errors import Interrupted
from hermes_site.lib.faults import fault
from hermes_site.lib.ids import new_id
from hermes_site.lib.select import Select
from hermes_site.lib.statements import prepared
from hermes_site.lib.statements import run as execute
from hermes_site.lib.text import clean
from hermes_site.lib.wake import wake, wake_on_commit
from memory.choices import MessageState
from memory.models import Message
from memory.services import answer_save, emit, message_event
from tools.choices import OPEN as CALLS_OPEN
from tools.models import ToolCall
from tools.services import CallOrigin, calls_request
from tools.services.request import AskedCall


def turn_save(lease: Lease, answer: Answer, model: str) -> None:
    """Save what a turn gave. Raises ``Interrupted`` when the lease was lost: nothing is saved."""
    run = lease.run
    fault("turn_before_save")
    with transaction.atomic():
        state = RunState.WAITING if answer.calls else RunState.COMPLETED
        _advance(lease, state, answer)
        message = _save_answer(lease, answer, model, MessageState.COMPLETED)
        usage = events.UsageReported(
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
            model=model,
        )
        if answer.calls:
            emit(run.session_id, run.pk, message_event(message), usage)
            _request_calls(run, message, answer)
        else:
            done = events.RunCompleted(message=str(message.pk))
            _finished(run, message_event(message), usage, done)
        fault("turn_saved")
    fault("turn_committed")
    limit_spend(run.user, "tokens", answer.usage.input_tokens + answer.usage.output_tokens)


def turn_failed(lease: Lease, code: str, message: str, partial: Answer, model: str) -> None:
    """End the run with a clear word; what had been streamed is kept. Raises ``Interrupted``."""
    run = lease.run
    with transaction.atomic():
        _advance(lease, RunState.FAILED, partial)
        Run.objects.filter(pk=run.pk).update(error_code=code[:64], error_message=message[:1000])
        told: list[events.Event] = []
        if partial.text.strip():
            kept = _save_answer(lease, partial, model, MessageState.FAILED)
            told.append(message_event(kept))
        _finished(run, *told, events.RunFailed(code=code, message=message[:1000]))


_ADVANCE = """
UPDATE agents_run SET state = %s, step = step + 1, attempts = 0, lease_until = NULL,
  answer_id = %s, input_tokens = input_tokens + %s, output_tokens = output_tokens + %s,
  finished_at = %s
WHERE id = %s AND fence = %s AND state = 'running'
"""


def _advance(lease: Lease, state: str, answer: Answer) -> None:
    """Leave the turn behind, if the lease still is this worker's."""
    ended = None if state in ACTIVE else clock.now()
    put = prepared(Run, id=lease.run.pk, answer_id=new_id(), finished_at=ended)
    tokens = answer.usage.input_tokens, answer.usage.output_tokens
    advanced = execute(
        _ADVANCE,
        [str(state), put["answer_id"], *tokens, put["finished_at"], put["id"], lease.fence],
    )
    if not advanced:
        raise Interrupted


def _save_answer(lease: Lease, answer: Answer, model: str, state: str) -> Message:
    run = lease.run
    return answer_save(
        id=run.answer_id,
        session_id=run.session_id,
        user=run.user,
        run_id=run.pk,
        text=clean(answer.text),
        reasoning=clean(answer.reasoning),
        state=state,
        model=model,
        tokens=answer.usage.output_tokens,
        parent_id=run.message_id if run.step == 0 else None,
    )


def _request_calls(run: Run, message: Message, answer: Answer) -> None:
    origin = CallOrigin(run.user, run.session_id, run.pk, run.surface, run.mode)
    asked = [
        AskedCall(call.id, call.name, call.arguments, call.error, call.repaired)
        for call in answer.calls
    ]
    calls_request(origin, message, asked)


def _finished(run: Run, *told: events.Event) -> None:
    """Tell of the end, inside its transaction, and let the session's next run start."""
    emit(run.session_id, run.pk, *told)
    wake_next(run.session_id)
    transaction.on_commit(lambda: run_finished.send(sender=Run, run_id=run.pk))


_waiting = Select(
    lambda session_id: (
        Run.objects.filter(session_id=session_id, state=RunState.QUEUED)
        .order_by("number")
        .only("pk")[:1]
    )
)


def wake_next(session_id: UUID) -> None:
    """Wake the first queued run of a session. It is looked for after the commit: a message that
    came before is found then, one that comes later wakes its own run."""

    def find() -> None:
        for following in _waiting(session_id):
            wake(TURN, following.pk)

    transaction.on_commit(find)


def run_resume(run_id: UUID) -> bool:
    """Queue a waiting run again when none of its calls is open; exactly one caller wins."""
    if ToolCall.objects.filter(run_id=run_id, state__in=CALLS_OPEN).exists():
        return False
    resumed = Run.objects.filter(pk=run_id, state=RunState.WAITING).update(
        state=RunState.QUEUED, woken_at=clock.now(), due_at=clock.now()
    )
    if resumed:
        wake_on_commit(TURN, run_id)
    return bool(resumed)
