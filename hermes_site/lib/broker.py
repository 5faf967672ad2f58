"""The broker's connection: back within a second or two of the broker, however long it was away.

Celery waits up to 30 s between tries, and gives no setting for it.
"""

from __future__ import annotations

from typing import Any

from celery.app.amqp import AMQP
from kombu import Connection


class EagerConnection(Connection):
    """Tries again every second."""

    def ensure_connection(self, *args: Any, **kwargs: Any) -> Any:
        kwargs |= {"interval_start": 0.5, "interval_step": 0.5, "interval_max": 1}
        return super().ensure_connection(*args, **kwargs)


class EagerAMQP(AMQP):
    Connection = BrokerConnection = EagerConnection
