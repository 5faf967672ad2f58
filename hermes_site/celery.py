"""Celery: it only wakes. Rows and their leases are the durability (docs/architecture.md)."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")

app = Celery("hermes", amqp="hermes_site.lib.broker:EagerAMQP")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_ready.connect
def _show_life(sender: Any, **kwargs: Any) -> None:
    """Tell the health page which queues this worker eats from."""
    from hermes_site.lib.alive import keep_alive

    for queue in sender.app.amqp.queues.consume_from:
        keep_alive(queue)
