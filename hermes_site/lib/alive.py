"""Signs of life: a key per kind of process that is renewed while it works."""

from __future__ import annotations

import logging
import threading

from redis.exceptions import RedisError

from hermes_site.lib.redis import PREFIX, client

log = logging.getLogger(__name__)
EVERY = 5
TTL = 15
KINDS = ("turns", "tools", "default")


def keep_alive(kind: str) -> None:
    """Renew ``hermes:alive:KIND`` from a daemon thread until the process ends."""

    def renew() -> None:
        wait = threading.Event()
        while True:
            try:
                client().set(_key(kind), "1", ex=TTL)
            except RedisError as error:
                log.debug("alive_not_renewed kind=%s error=%s", kind, error)
            wait.wait(EVERY)

    threading.Thread(target=renew, name=f"alive-{kind}", daemon=True).start()


def alive() -> dict[str, bool]:
    """Which kinds of worker have shown a sign of life. Raises ``RedisError``."""
    found = client().mget([_key(kind) for kind in KINDS])
    return {kind: value is not None for kind, value in zip(KINDS, found, strict=True)}


def _key(kind: str) -> str:
    return f"{PREFIX}alive:{kind}"
