"""Arguments of a call: validated against the tool's schema, small slips mended, hashed."""

from __future__ import annotations

import hashlib
import math
import re
from typing import Any

import orjson
from jsonschema import Draft202012Validator

from hermes_site.lib.errors import ModelRecoverable
from hermes_site.lib.text import clean_json
from tools.declare import Tool

# A call's arguments in bytes of JSON; larger content goes through files.
MAX_BYTES = 512 * 1024
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_TRUE, _FALSE = {"true", "yes", "1"}, {"false", "no", "0"}


def validate(tool: Tool, arguments: Any) -> dict[str, Any]:
    """The arguments with slips mended ("5" for an integer). Raises ``ModelRecoverable`` that
    names what is wrong and gives the schema."""
    if not isinstance(arguments, dict):
        raise ModelRecoverable(f"{tool.name}: arguments must be a JSON object.")
    properties = tool.parameters["properties"]
    mended = _storable(tool, arguments)
    for name in mended.keys() & properties.keys():
        mended[name] = _mend(mended[name], properties[name].get("type"))
    mended = _storable(tool, mended)
    problems = [
        f"{'.'.join(map(str, error.path)) or 'arguments'}: {error.message[:300]}"
        for error in Draft202012Validator(tool.parameters).iter_errors(mended)
    ]
    if problems:
        schema = orjson.dumps(tool.parameters).decode()
        raise ModelRecoverable(f"{tool.name}: {'; '.join(problems[:5])}. Schema: {schema}")
    return mended


def _storable(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as every database and the digest take them. Raises ``ModelRecoverable``."""
    try:
        written = orjson.dumps(clean_json(arguments))
    except (TypeError, RecursionError) as error:
        raise ModelRecoverable(f"{tool.name}: arguments cannot be kept: {error}.") from error
    if len(written) > MAX_BYTES:
        raise ModelRecoverable(f"{tool.name}: arguments are larger than {MAX_BYTES:,} bytes.")
    kept: dict[str, Any] = orjson.loads(written)
    return kept


def digest(tool: str, arguments: dict[str, Any]) -> str:
    """The hash that policy decisions, approvals and grants are bound to."""
    canonical = orjson.dumps([tool, arguments], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(canonical).hexdigest()


def _mend(value: Any, wanted: str | None) -> Any:
    """``value`` in the wanted type where the meaning is certain, else as it is."""
    if isinstance(value, str):
        text = value.strip()
        if wanted == "integer" and _INTEGER.fullmatch(text):
            return int(text)
        if wanted == "number":
            try:
                return float(text) if math.isfinite(float(text)) else value
            except ValueError:
                return value
        if wanted == "boolean" and text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        if wanted in ("array", "object") and text[:1] in "[{" and text:
            try:
                return orjson.loads(text)
            except orjson.JSONDecodeError:
                return value
    # Beyond 2^53 a float no longer says which integer was meant.
    if wanted == "integer" and isinstance(value, float) and value.is_integer():
        return int(value) if abs(value) < 2**53 else value
    if wanted == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value
