"""Text at the door: cleaning what comes in, and making visible what could deceive."""

from __future__ import annotations

import re
import unicodedata

# Bidirectional controls, zero-width characters and Unicode tags: they change what a person
# sees without changing what a program does (CVE-2021-42574 and its kin).
_DECEPTIVE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Make text storable and sendable: lone surrogates become U+FFFD; NUL, other control
    characters and bidi controls go; newlines become ``\\n``."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _BIDI.sub("", _CONTROL.sub("", text))


def clean_json(value: object) -> object:
    """``value`` (decoded JSON) with lone surrogates and NULs replaced in every key and string."""
    if isinstance(value, str):
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value.replace("\x00", "\ufffd")
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {str(clean_json(key)): clean_json(item) for key, item in value.items()}
    return value


def visible(text: str) -> str:
    """``text`` with every invisible or reordering character written as ``\\u{…}``; for cards,
    where the person must see exactly what will run."""

    def escape(match: re.Match[str]) -> str:
        return f"\\u{{{ord(match.group()):x}}}"

    text = _CONTROL.sub(escape, _SURROGATE.sub(escape, _DECEPTIVE.sub(escape, text)))
    return "".join(
        escape_char(char) if unicodedata.category(char) == "Zs" and char != " " else char
        for char in text
    )


def escape_char(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def preview(text: str, limit: int) -> str:
    """At most ``limit`` characters on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def title_from(text: str, limit: int = 60) -> str:
    """A session title drawn from its first message."""
    return preview(text.lstrip("#>*- `"), limit)
