"""The cache, which may lose Redis: then each process keeps what it needs for itself.

Only sign-in rates are kept in it; counted per process they still hold back guessing.
"""

from __future__ import annotations

import logging
from typing import Any

import orjson
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

from hermes_site.lib.redis import PREFIX

log = logging.getLogger(__name__)
_METHODS = ("add", "get", "set", "touch", "delete", "incr", "has_key", "clear")


class JSONSerializer:
    """Values as JSON. Django's own pickles them: whoever can write to Redis could run code."""

    def dumps(self, value: Any) -> bytes | int:
        # Numbers as they are, for INCR.
        return value if type(value) is int else orjson.dumps(value)

    def loads(self, kept: bytes) -> Any:
        return orjson.loads(kept)


class TolerantRedisCache(RedisCache):
    """Redis, else the memory of this process."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        options = {"serializer": JSONSerializer, **params.get("OPTIONS", {})}
        prefix = f"{PREFIX}cache"
        super().__init__(server, {"KEY_PREFIX": prefix, **params, "OPTIONS": options})
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
