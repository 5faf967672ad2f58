"""Signs of life of the workers, and the end of one that has stopped eating.

After a broken broker connection a Celery worker may stay up and take nothing. It is ended here,
and its supervisor starts another.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable

from redis.exceptions import RedisError

from hermes_site.lib.redis import PREFIX, client

log = logging.getLogger(__name__)
KINDS = ("turns", "tools", "default")
# Seconds between looks, that a sign lasts, that a worker with free hands may leave its queue
# waiting, and that it then gets to shut down by itself.
EVERY, TTL, PATIENCE, GRACE = 2, 15, 10, 15


class Watch:
    """One per worker process: ``fed`` is called with each task that it receives.

    ``waiting`` says how many tasks are in its queue (raising when the broker is away), ``busy``
    whether all of its hands are full.
    """

    def __init__(self, kind: str, waiting: Callable[[], int], busy: Callable[[], bool]) -> None:
        self._kind, self._waiting, self._busy = kind, waiting, busy
        self._fed = time.monotonic()

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"alive-{self._kind}", daemon=True).start()

    def fed(self, **signal: object) -> None:
        self._fed = time.monotonic()

    def starving(self) -> bool:
        """Whether tasks have waited for ``PATIENCE`` seconds although hands are free."""
        if self._busy() or not self._waiting():
            self.fed()
        return time.monotonic() - self._fed > PATIENCE

    def _run(self) -> None:
        while True:
            try:
                client().set(_key(self._kind), "1", ex=TTL)
                if self.starving():
                    break
            except (RedisError, OSError) as error:
                self.fed()
                log.debug("alive_not_renewed kind=%s error=%s", self._kind, error)
            time.sleep(EVERY)
        log.error("worker_starving kind=%s: ends, to be started again", self._kind)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(70)


def alive() -> dict[str, bool]:
    """Which kinds of worker have shown a sign of life. Raises ``RedisError``."""
    found = client().mget([_key(kind) for kind in KINDS])
    return {kind: value is not None for kind, value in zip(KINDS, found, strict=True)}


def _key(kind: str) -> str:
    return f"{PREFIX}alive:{kind}"
