"""Sending wake-ups. A lost one is found by the sweeper, so failing to send is not an error.

Each is a Celery task that goes onto the broker's list in one command. Celery's own way of sending
takes more than a millisecond of processor, as much as everything else about accepting a message.
"""

from __future__ import annotations

import base64
import logging
from uuid import UUID

import orjson
from celery import current_app
from django.conf import settings
from django.db import transaction
from redis.exceptions import RedisError

from hermes_site.lib.faults import fault
from hermes_site.lib.ids import new_id
from hermes_site.lib.redis import broker

log = logging.getLogger(__name__)

# Seconds after which an unread wake-up is void; by then the sweeper has sent another.
EXPIRES = 30


def wake_on_commit(task: str, id: UUID) -> None:
    """Wake ``task`` for the row ``id`` once the caller's transaction has committed."""
    transaction.on_commit(lambda: wake(task, id))


def wake(task: str, id: UUID) -> None:
    fault("before_enqueue")
    queue = settings.CELERY_TASK_ROUTES[task]
    try:
        broker().lpush(f"{settings.BROKER_PREFIX}{queue}", _envelope(queue, task, id))
    except (RedisError, OSError) as error:
        log.warning("wake_lost task=%s id=%s error=%s", task, id, error)


def _envelope(queue: str, task: str, id: UUID) -> bytes:
    """A task as kombu keeps it in a Redis list: Celery's message protocol 2, the body in base64.
    https://docs.celeryq.dev/en/stable/internals/protocol.html"""
    message = current_app.amqp.as_task_v2(
        str(new_id()), task, [str(id)], expires=EXPIRES, ignore_result=True
    )
    return orjson.dumps(
        {
            "body": base64.b64encode(orjson.dumps(message.body)).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": message.headers,
            "properties": {
                **message.properties,
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": queue},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": str(new_id()),
            },
        }
    )
