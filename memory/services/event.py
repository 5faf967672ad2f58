"""Telling clients: durable events go through the outbox, live ones straight to Redis."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from redis.exceptions import RedisError

from hermes_site.lib import clock
from hermes_site.lib.events import Event
from hermes_site.lib.faults import fault
from hermes_site.lib.publisher import Outgoing, publish
from hermes_site.lib.statements import Insert
from memory.models import SessionEvent
from memory.services.numbering import NUMBERS

log = logging.getLogger(__name__)

_insert = Insert(SessionEvent)
Sink = Callable[[list[Outgoing]], None]
# Where committed events go: straight to Redis, unless the process has a publishing loop.
_sink: Sink | None = None


def publish_through(sink: Sink | None) -> None:
    """Hand this process's durable events to ``sink`` instead of sending them in line."""
    global _sink
    _sink = sink


def emit(session_id: UUID, run_id: UUID | None, *happened: Event) -> None:
    """Record durable events in the caller's transaction; they are sent once it has committed."""
    rows = [
        SessionEvent(session_id=session_id, run_id=run_id, type=event.type, data=event.data())
        for event in happened
    ]
    _insert(*rows)
    outgoing = [_outgoing(row) for row in rows]
    transaction.on_commit(lambda: _send(outgoing))


def emit_live(session_id: UUID, run_id: UUID | None, event: Event) -> None:
    """Send an event that is worth nothing later; lost when Redis is away."""
    try:
        publish([Outgoing(session_id, run_id, event.type, event.data())])
    except RedisError as error:
        log.debug("live_event_lost type=%s error=%s", event.type, error)


def events_republish(older_than: float = 5.0, limit: int = 500) -> int:
    """Send rows whose publication was lost; clients take an event twice without harm."""
    rows = SessionEvent.objects.filter(
        seq=None, at__lt=clock.now() - timedelta(seconds=older_than)
    ).order_by("id")[:limit]
    outgoing = [_outgoing(row) for row in rows]
    if outgoing:
        log.info("events_republished count=%d", len(outgoing))
        _send(outgoing)
    return len(outgoing)


def _outgoing(row: SessionEvent) -> Outgoing:
    at = clock.iso(row.at) or ""
    return Outgoing(row.session_id, row.run_id, row.type, dict(row.data), at, row.pk)


def _send(outgoing: list[Outgoing]) -> None:
    fault("event_before_publish")
    if _sink is not None:
        _sink(outgoing)
        return
    try:
        numbers = publish(outgoing)
    except RedisError as error:
        log.warning("events_unpublished count=%d error=%s", len(outgoing), error)
        return
    fault("event_before_number")
    NUMBERS.add(numbers)
