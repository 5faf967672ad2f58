"""The cache, which may lose Redis: then each process keeps what it needs for itself.

Only sign-in rates are kept in it; counted per process they still hold back guessing.
"""

from __future__ import annotations

import logging
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

log = logging.getLogger(__name__)
_METHODS = ("add", "get", "set", "touch", "delete", "incr", "has_key", "clear")


class TolerantRedisCache(RedisCache):
    """Redis, else the memory of this process."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._own = LocMemCache("tolerant", params)
        for name in _METHODS:
            setattr(self, name, self._tolerant(name, getattr(self, name)))

    def _tolerant(self, name: str, method: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return method(*args, **kwargs)
            except RedisError as error:
                log.warning("cache_without_redis method=%s error=%s", name, error)
                return getattr(self._own, name)(*args, **kwargs)

        return call
