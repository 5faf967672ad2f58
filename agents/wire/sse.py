"""Server-sent events as model servers write them, also the sloppy ones."""

from __future__ import annotations

import json
from typing import Any

import orjson

from agents.providers.base import ModelError

# One event; a whole answer in one line stays far below.
MAX_LINE = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class SseDecoder:
    """Cuts a byte stream into the payloads of its ``data`` lines.

    Each line is an event of its own: no model API splits one over lines, and some servers leave
    out the empty line between two.
    """

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._size = 0
        self._first = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads that ``chunk`` completes. Raises ``ModelError`` for an endless line."""
        if b"\n" not in chunk:
            self._size += len(chunk)
            if self._size > MAX_LINE:
                raise ModelError("cut", "The model server sent a line without end.", retry=True)
            self._pending.append(chunk)
            return []
        lines = b"".join([*self._pending, chunk]).split(b"\n")
        last = lines.pop()
        self._pending, self._size = [last], len(last)
        return self._payloads(lines)

    def end(self) -> list[bytes]:
        """The payload of a last line without a newline."""
        last, self._pending = b"".join(self._pending), []
        return self._payloads([last])

    def _payloads(self, lines: list[bytes]) -> list[bytes]:
        if self._first and lines:
            self._first = False
            lines[0] = lines[0].removeprefix(_BOM)
        return [line[5:].strip() for line in lines if line.startswith(b"data:")]


def decode(payload: bytes) -> dict[str, Any]:
    """The JSON object of an event, ``{}`` for anything else than an object.

    Raises ``ModelError``: an event that cannot be read may have been part of a call, so the
    answer is no longer whole.
    """
    try:
        value = orjson.loads(payload)
    except orjson.JSONDecodeError:
        # The standard reader also takes lone surrogates and NaN.
        try:
            value = json.loads(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            message = "The model server sent something that is not JSON."
            raise ModelError("cut", message, retry=True) from None
    return value if isinstance(value, dict) else {}


class TextJoiner:
    """Makes text from pieces in which a character may be split into two surrogates."""

    def __init__(self) -> None:
        self._high = ""

    def push(self, text: str) -> str:
        """The text so far complete; a lone surrogate in it becomes U+FFFD."""
        if not self._high and text.isascii():
            return text
        text, self._high = self._high + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._high = text[:-1], text[-1]
        return whole(text)


def whole(text: str) -> str:
    """``text`` with surrogate pairs joined and lone ones replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
