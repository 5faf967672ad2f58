"""Celery: it only wakes. Rows and their leases are the durability (docs/architecture.md)."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from celery import Celery
from celery.signals import task_received, worker_ready
from celery.worker import state

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")

app = Celery("hermes", amqp="hermes_site.lib.broker:EagerAMQP")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_ready.connect
def _show_life(sender: Any, **kwargs: Any) -> None:
    """Tell the health page which queue this worker eats from, and watch that it does."""
    from kombu.exceptions import OperationalError

    from hermes_site.lib.alive import Watch

    hands = sender.controller.concurrency
    broker = app.connection_for_read()

    def waiting(queue: str) -> int:
        try:
            return int(broker.default_channel.client.llen(queue))
        except OperationalError as error:
            raise OSError(str(error)) from error

    for queue in app.amqp.queues.consume_from:
        watch = Watch(queue, partial(waiting, queue), lambda: _busy(hands))
        task_received.connect(watch.fed, weak=False)
        watch.start()


def _busy(hands: int) -> bool:
    return len(state.active_requests) >= hands
