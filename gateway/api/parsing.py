"""Bodies: strict, bounded, and free of what databases and JSON cannot carry."""

from __future__ import annotations

import json
import math
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from hermes_site.lib.errors import UserFacing
from hermes_site.lib.text import clean_json

MAX_DEPTH = 64
# What JSON, both databases and JavaScript's BigInt carry alike.
_LARGEST = 2**63


class CleanJSONParser(JSONParser):
    """Refuses what is not an object, NaN, numbers beyond 64 bits and deep nesting; replaces lone
    surrogates and NUL. At most ``DATA_UPLOAD_MAX_MEMORY_SIZE`` bytes are read."""

    def parse(self, stream: IO[bytes], media_type: Any = None, parser_context: Any = None) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise body_too_large(limit)
        try:
            value = read_json(body.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise ParseError(f"The body is not JSON: {str(error)[:200]}") from error
        if not isinstance(value, dict):
            raise ParseError("The body must be a JSON object.")
        return value


def read_json(text: str) -> Any:
    """What a client sent, cleaned. Raises ``ValueError`` (or ``RecursionError``) for what is not
    JSON, NaN, numbers beyond 64 bits and deep nesting."""
    value = json.loads(text, parse_constant=_refuse, parse_float=_float, parse_int=_integer)
    if _depth(value) > MAX_DEPTH:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    return clean_json(value)


def body_too_large(limit: int) -> UserFacing:
    return UserFacing(
        f"The body is larger than {limit:,} bytes.",
        code="too_large",
        status=413,
        extra={"limit": limit},
    )


def _refuse(word: str) -> Any:
    raise ValueError(f"{word[:40]} is not a number that can be kept")


def _float(word: str) -> float:
    value = float(word)
    return value if math.isfinite(value) else _refuse(word)


def _integer(word: str) -> int:
    value = int(word) if len(word) <= 20 else _refuse(word)
    return value if -_LARGEST <= value < _LARGEST else _refuse(word)


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            item
            for container in level
            if isinstance(container, dict | list)
            for item in (container.values() if isinstance(container, dict) else container)
        ]
    return depth
