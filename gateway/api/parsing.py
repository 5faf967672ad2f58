"""JSON bodies: strict, bounded, and free of what databases and JSON cannot carry."""

from __future__ import annotations

import json
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from hermes_site.lib.text import clean_json

MAX_DEPTH = 64


class CleanJSONParser(JSONParser):
    """Refuses what is not an object, NaN and deep nesting; replaces lone surrogates and NUL."""

    def parse(self, stream: IO[bytes], media_type: Any = None, parser_context: Any = None) -> Any:
        body = stream.read()
        try:
            value = json.loads(body.decode("utf-8"), parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise ParseError(f"The body is not JSON: {str(error)[:200]}") from error
        if not isinstance(value, dict):
            raise ParseError("The body must be a JSON object.")
        if _depth(value) > MAX_DEPTH:
            raise ParseError(f"The body is nested deeper than {MAX_DEPTH} levels.")
        return clean_json(value)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


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
