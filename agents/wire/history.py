"""The rules that every model API sets for a history, checked and kept before it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import orjson

from agents.providers.base import ChatMessage, ModelError
from agents.wire.sse import whole
from hermes_site.lib.text import clean_json

_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_LONGEST_ID = 40  # OpenAI refuses longer ones.


def check_history(messages: Sequence[ChatMessage]) -> None:
    """Raises ``ModelError`` (``bad_request``) unless each call has exactly one result, in the
    order of the calls, with ids that are unique within the message."""
    for place, message in enumerate(messages):
        where = f"Message {place} of the history"
        if message.role not in ("user", "assistant"):
            raise ModelError("bad_request", f"{where} has the role {message.role!r}.")
        if message.role == "user" and (message.calls or message.results):
            raise ModelError("bad_request", f"{where} is the user's and holds tool calls.")
        asked = [call.id for call in message.calls]
        answered = [result.id for result in message.results]
        if len(set(asked)) != len(asked) or "" in asked:
            raise ModelError("bad_request", f"{where} has calls without ids of their own.")
        if asked != answered:
            message_text = f"{where} has {len(asked)} calls and not exactly their results."
            raise ModelError("bad_request", message_text)
    if not any(message.content.strip() or message.calls for message in messages):
        raise ModelError("bad_request", "There is nothing to send to the model.")


def wire_ids(messages: Sequence[ChatMessage], refused: re.Pattern[str]) -> list[list[str]]:
    """For each message the ids of its calls as they are sent: unique in the whole history, as
    local models begin to count anew in each answer, and without the ``refused`` characters.

    The same history always gives the same ids, so that prompt caches hold.
    """
    used: set[str] = set()
    ids: list[list[str]] = []
    for place, message in enumerate(messages):
        ids.append([])
        for index, call in enumerate(message.calls):
            base = refused.sub("_", call.id)[:_LONGEST_ID] or "call"
            wanted, turn = base, 0
            while wanted in used:
                wanted = f"{base[:16]}_{place}_{index}" + ("_" * turn)
                turn += 1
            used.add(wanted)
            ids[-1].append(wanted)
    return ids


def wire_name(name: str) -> str:
    """A tool name that APIs accept; what a model made up may hold anything."""
    return _NOT_A_NAME.sub("_", name)[:_LONGEST_NAME] or "unknown"


def wire_arguments(arguments: dict[str, Any]) -> bytes:
    """Arguments as JSON that is valid UTF-8."""
    try:
        return orjson.dumps(arguments)
    except TypeError:
        # Lone surrogates, or integers of more than 64 bits.
        return json.dumps(clean_json(arguments), ensure_ascii=False).encode()


def wire_text(text: str) -> str:
    """Text that can be sent as UTF-8."""
    return text if text.isascii() else whole(text)
