"""Owns the reading of a program's options against a table of options that only read.

A table is written as two strings. ``short`` is in getopt's form: ``"ab:c?"`` is -a, -b with a
value, -c with an optional value attached to it. ``long`` is blank-separated: ``name``,
``name=`` (takes a value) or ``name?`` (may take one after ``=``). Abbreviated long options
are refused: GNU programs accept them, so ``--outp=f`` must not slip through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tools.gate.plain import Word


class NotRead(Exception):
    """An argument is not on the list of those that only read; says which."""


def word_set(text: str) -> frozenset[str]:
    """The blank-separated words of a table."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Arguments:
    """What was given: option names in order (``-n``, ``--lines``), the operands, and
    ``values``, the words that hold options and their values, as written without quotes."""

    options: tuple[str, ...]
    operands: tuple[Word, ...]
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reads:
    """Which arguments of a program only read.

    ``operands`` is the most it may be given (None: any number), ``check`` a further test that
    raises ``NotRead``, ``digits`` allows ``-5``, ``extra`` holds options of no regular form, and
    ``attached`` is False where a value is always the next word, ``bundled`` where ``-ab``
    is not ``-a -b``.
    """

    short: str = ""
    long: str = ""
    operands: int | None = None
    digits: bool = False
    attached: bool = True
    bundled: bool = True
    check: Callable[[Arguments], None] | None = None
    extra: frozenset[str] = field(default_factory=frozenset)

    @cached_property
    def shorts(self) -> dict[str, str]:
        kinds: dict[str, str] = {}
        for char in self.short:
            if char in ":?":
                kinds[list(kinds)[-1]] = char
            else:
                kinds[char] = ""
        return kinds

    @cached_property
    def longs(self) -> dict[str, str]:
        return {item.rstrip("=?"): item[len(item.rstrip("=?")) :] for item in self.long.split()}


def read_arguments(spec: Reads, words: Sequence[Word]) -> Arguments:
    """Sort ``words`` into options and operands; raises ``NotRead`` for what is not in ``spec``."""
    options: list[str] = []
    operands: list[Word] = []
    values: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word.text == "--":
            operands.extend(words[index:])
            break
        if word.text == "-" or not word.text.startswith("-"):
            _refuse_open_pattern(word)
            operands.append(word)
            continue
        names, takes_next = _option(spec, word)
        options.extend(names)
        values.append(word.text)
        if takes_next:
            if index == len(words):
                raise NotRead(f"{word.text} lacks its value")
            _refuse_open_pattern(words[index])
            values.append(words[index].text)
            index += 1
    if spec.operands is not None:
        if len(operands) > spec.operands:
            raise NotRead(f"it is given more than {spec.operands} operand(s)")
        if any(word.is_pattern for word in operands):
            raise NotRead("a pattern may stand for more operands than it reads")
    return Arguments(tuple(options), tuple(operands), tuple(values))


def _refuse_open_pattern(word: Word) -> None:
    """A pattern with no literal start can match a file that is named like an option."""
    if word.is_pattern and (not word.prefix or word.prefix.startswith("-")):
        raise NotRead(f"the pattern {word.raw} may stand for an option")


def _option(spec: Reads, word: Word) -> tuple[list[str], bool]:
    if word.text in spec.extra:
        return [word.text], False
    if word.text.startswith("--"):
        return _long_option(spec, word)
    if word.is_pattern:
        raise NotRead(f"the pattern {word.raw} may stand for an option")
    if spec.digits and word.text[1:].isdecimal() and word.text.isascii():
        return ["-digits"], False
    if not spec.bundled and len(word.text) > 2:
        raise NotRead(f"{word.text} is not one of its options that only read")
    return _cluster(spec, word.text)


def _long_option(spec: Reads, word: Word) -> tuple[list[str], bool]:
    name, equals, _ = word.text[2:].partition("=")
    kind = spec.longs.get(name)
    if kind is None or (equals and not kind):
        raise NotRead(f"--{name} is not one of its options that only read")
    if word.is_pattern and "=" not in (word.prefix or ""):
        raise NotRead(f"the pattern {word.raw} may stand for an option")
    return ["--" + name], kind == "=" and not equals


def _cluster(spec: Reads, text: str) -> tuple[list[str], bool]:
    names: list[str] = []
    for place, letter in enumerate(text[1:], start=2):
        kind = spec.shorts.get(letter)
        if kind is None:
            raise NotRead(f"-{letter} is not one of its options that only read")
        names.append("-" + letter)
        if kind:
            rest = text[place:]
            if rest and not spec.attached:
                raise NotRead(f"the value of -{letter} must be a word of its own")
            return names, kind == ":" and not rest
    return names, False
