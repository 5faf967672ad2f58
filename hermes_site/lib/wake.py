"""Sending wake-ups. A lost one is found by the sweeper, so failing to send is not an error."""

from __future__ import annotations

import logging
from uuid import UUID

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from hermes_site.lib.faults import fault

log = logging.getLogger(__name__)

# Seconds after which an unread wake-up is void; by then the sweeper has sent another.
EXPIRES = 30


def wake_on_commit(task: str, id: UUID) -> None:
    """Wake ``task`` for the row ``id`` once the caller's transaction has committed."""
    transaction.on_commit(lambda: wake(task, id))


def wake(task: str, id: UUID) -> None:
    fault("before_enqueue")
    try:
        current_app.send_task(task, [str(id)], expires=EXPIRES, ignore_result=True)
    except (OperationalError, OSError) as error:
        log.warning("wake_lost task=%s id=%s error=%s", task, id, error)
