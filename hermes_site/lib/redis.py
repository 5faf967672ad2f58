"""Redis clients of a process, and the names of every key the portal uses.

Redis holds hints: the live tail of events, rates, wake-ups. Losing all of it loses nothing
that was accepted. Each key of the portal has an expiry.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from uuid import UUID

import redis
import redis.asyncio
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

PREFIX = "hermes:"
# Seconds for one command. A request makes a few, and a Redis that stands still must not hold it
# much longer than that: only a broken connection is tried again, and once.
TIMEOUT = 2
# Seconds that the live tail of a session is kept after its last durable event.
STREAM_TTL = 3600


def client() -> redis.Redis:
    """The blocking client of this process; made anew after a fork."""
    return _client(settings.REDIS_URL, os.getpid())


def broker() -> redis.Redis:
    """The same for the database of Celery's lists."""
    return _client(settings.BROKER_URL, os.getpid())


@cache
def _client(url: str, pid: int) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=TIMEOUT,
        socket_connect_timeout=TIMEOUT,
        health_check_interval=15,
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )


def async_client() -> redis.asyncio.Redis:
    """A client for the caller's event loop; the caller closes it."""
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=2, health_check_interval=15
    )


# The braces keep a session's keys on one node of a cluster.
@lru_cache(8192)
def stream_key(session_id: UUID | str) -> str:
    """The live events of a session, and the channel that carries them."""
    return f"{PREFIX}s:{{{session_id}}}"


@lru_cache(8192)
def fence_key(session_id: UUID | str, run_id: UUID | str) -> str:
    """The newest fence of a run: an older worker's deltas are refused."""
    return f"{PREFIX}f:{{{session_id}}}:{run_id}"


@lru_cache(8192)
def partial_key(session_id: UUID | str, message_id: UUID | str) -> str:
    """The text so far of a message that is being streamed."""
    return f"{PREFIX}p:{{{session_id}}}:{message_id}"


def user_channel(user_id: UUID | str) -> str:
    """Control messages to a user's sockets."""
    return f"{PREFIX}u:{user_id}"


def run_channel() -> str:
    """Control messages to the workers that stream runs: ``cancel <run id>``."""
    return f"{PREFIX}runs"
