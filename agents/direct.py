"""Tool calls that a person makes: ``/tool NAME {json}`` and ``!COMMAND``.

They are runs without a model, and go through the same policy, approval and audit.
"""

from __future__ import annotations

import re

import orjson

from hermes_site.lib.ids import new_id
from tools.services.request import AskedCall

# A slash and one word: "/workspace/x" is a path, not a command.
_COMMAND = re.compile(r"/([a-z][a-z_-]*)(?:\s+(.*))?", re.S)


def parse(text: str) -> tuple[str, str] | None:
    """``(name, rest)`` of a command, or None for an ordinary message."""
    if text.startswith("!") and len(text.strip()) > 1:
        return "!", text[1:].strip()
    match = _COMMAND.fullmatch(text.strip())
    return (match[1], (match[2] or "").strip()) if match else None


def direct_call(text: str) -> AskedCall | None:
    """The tool call that ``/tool`` or ``!`` asks for, or None. Bad JSON is the call's error."""
    name, rest = parse(text) or ("", "")
    id = f"direct_{new_id().hex}"
    if name == "!":
        return AskedCall(id, "shell", {"command": rest})
    if name != "tool":
        return None
    tool, _, raw = rest.partition(" ")
    try:
        arguments = orjson.loads(raw.strip() or "{}")
    except orjson.JSONDecodeError as error:
        return AskedCall(id, tool, {}, f"{raw[:200]!r} is not JSON: {error}")
    if not isinstance(arguments, dict):
        return AskedCall(id, tool, {}, "the arguments must be a JSON object")
    return AskedCall(id, tool, arguments)
