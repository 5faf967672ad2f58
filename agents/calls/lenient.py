"""JSON as models write it: read when the meaning is certain, refused with a reason when not.

Certain are comments, single quotes, trailing commas, Python's literals, a byte order mark and
raw line breaks in strings. Guesses, marked ``repaired``, are one missing final brace and a
backslash that escapes nothing.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from hermes_site.lib.text import clean_json

MAX_DEPTH = 64
MAX_VALUES = 256
_SPACE = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,30})(?:\.\d+)?(?:[eE][+-]?\d{1,4})?(?![\w.])")
_WORD = re.compile(r"[A-Za-z]+(?!\w)")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"} | {c: c for c in "\"'\\/"}
_CODES = {"u": re.compile(r"[0-9a-fA-F]{4}"), "x": re.compile(r"[0-9a-fA-F]{2}")}


class Unreadable(ValueError):
    """Text that is not JSON even with good will; the message is for the model."""


@dataclass(frozen=True)
class Read:
    """Decoded values, clean of lone surrogates and NULs. ``repaired``: read after a guess."""

    values: list[Any]
    repaired: bool = False


def read(text: str, *, mend: bool = True) -> Read:
    """The values that follow one another in ``text``. Raises ``Unreadable``.

    ``mend`` False allows no guesses, for text that is known to be cut.
    """
    reader = Reader(text, mend=mend)
    values: list[Any] = []
    reader.space()
    while not reader.at_end:
        if len(values) == MAX_VALUES:
            raise Unreadable(f"More than {MAX_VALUES} values follow one another.")
        values.append(reader.strict_or_lenient())
        reader.space()
    return Read([checked(value) for value in values], reader.repaired)


class Reader:
    """Reads values from ``text`` at ``position``. Every method raises ``Unreadable``."""

    def __init__(self, text: str, *, mend: bool = True) -> None:
        self.text, self.position, self.mend = text, 0, mend
        self.repaired = False
        self._depth = 0
        self._strict = json.JSONDecoder(strict=False, parse_constant=_no_constant)

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.text)

    @property
    def next(self) -> str:
        return self.text[self.position : self.position + 1]

    def space(self) -> None:
        """Pass over white space and comments."""
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position

    def take(self, mark: str) -> bool:
        """Pass over ``mark`` if it comes next."""
        found = self.text.startswith(mark, self.position)
        self.position += len(mark) if found else 0
        return found

    def fail(self, wanted: str) -> NoReturn:
        found = repr(self.text[self.position : self.position + 12]) if self.next else "the end"
        raise Unreadable(f"Expected {wanted} at character {self.position}, found {found}.")

    def strict_or_lenient(self) -> Any:
        """One value, by the fast standard reader where that can read it."""
        try:
            value, self.position = self._strict.raw_decode(self.text, self.position)
        except (ValueError, RecursionError):
            return self.value()
        if isinstance(value, int | float) and self.next and not self.next.isspace():
            self.fail("the end of a number")
        return value

    def value(self) -> Any:
        if self.next == "{":
            return self._nested(self._object)
        if self.next == "[":
            return self._nested(self._array)
        if self.next in _PLAIN:
            return self.string()
        if match := _NUMBER.match(self.text, self.position):
            self.position = match.end()
            return json.loads(match.group())
        match = _WORD.match(self.text, self.position)
        if match is None or match.group() not in _WORDS:
            self.fail("a value")
        self.position = match.end()
        return _WORDS[match.group()]

    def _nested(self, what: Any) -> Any:
        if self._depth >= MAX_DEPTH:
            raise Unreadable(f"Nested deeper than {MAX_DEPTH}.")
        self._depth += 1
        self.position += 1
        found = what()
        self._depth -= 1
        return found

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            self.space()
            if self.take("}"):
                return found
            if self.next not in _PLAIN:
                self.fail("a quoted key or '}'")
            key = self.string()
            self.space()
            if not self.take(":"):
                self.fail("':'")
            self.space()
            found[key] = self.value()
            if not self._more("}", found[key]):
                return found

    def _array(self) -> list[Any]:
        found: list[Any] = []
        while True:
            self.space()
            if self.take("]"):
                return found
            found.append(self.value())
            if not self._more("]", found[-1]):
                return found

    def _more(self, closer: str, last: Any) -> bool:
        """Whether a comma says that more comes; passes over it or the closer."""
        self.space()
        if self.take(","):
            return True
        if self.take(closer):
            return False
        # One brace lost at the very end has one meaning; the end of a number may be lost too.
        number = isinstance(last, int | float) and not isinstance(last, bool)
        if self.mend and self.at_end and closer == "}" and self._depth == 1 and not number:
            self.repaired = True
        else:
            self.fail(f"',' or '{closer}'")
        return False

    def string(self) -> str:
        quote, parts = self.next, []
        self.position += 1
        while True:
            match = _PLAIN[quote].match(self.text, self.position)
            assert match is not None  # The pattern matches the empty text.
            parts.append(match.group())
            self.position = match.end()
            if self.take(quote):
                return "".join(parts)
            if self.at_end:
                raise Unreadable("A string has no end.")
            parts.append(self._escape())

    def _escape(self) -> str:
        mark = self.text[self.position + 1 : self.position + 2]
        if pattern := _CODES.get(mark):
            match = pattern.match(self.text, self.position + 2)
            if match is None:
                self.fail("an escape with its hexadecimal digits")
            self.position = match.end()
            return chr(int(match.group(), 16))
        if not mark:
            raise Unreadable("A string has no end.")
        self.position += 2
        if mark in _ESCAPES:
            return _ESCAPES[mark]
        if not self.mend:
            raise Unreadable(f"A string holds the unknown escape \\{mark}.")
        self.repaired = True
        return "\\" + mark


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def checked(value: Any) -> Any:
    """``value`` without lone surrogates and NULs. Raises ``Unreadable`` for what could not be
    stored or sent again: too deep, or numbers beyond 64 bits."""
    _check(value, 0)
    return clean_json(value)


def _check(value: Any, depth: int) -> None:
    if isinstance(value, dict | list):
        if depth >= MAX_DEPTH:
            raise Unreadable(f"Nested deeper than {MAX_DEPTH}.")
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, depth + 1)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Unreadable("A number has more than 64 bits.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise Unreadable("A number is too large.")
