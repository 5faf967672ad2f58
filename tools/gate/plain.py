"""Owns the strict reading of a command line: literal words and joining operators, nothing else.

This is the second, independent reader next to tree-sitter. It knows only the part of the
shell in which text means exactly what it shows; whatever lies outside raises ``NotPlain``.
A command can be ``read`` only when both readers find the same commands in it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_BLANK = re.compile(r"[ \t]+")
_OPERATOR = re.compile(r"&&|\|\||\|&|\||;|\n")
# Discarding output or joining stderr to stdout opens no file that keeps anything.
_HARMLESS_REDIRECT = re.compile(r"(?:(?:[12]|&)?>{1,2}[ \t]*/dev/null|2>&1|1?>&2)(?=[ \t\n;|&]|\Z)")
_LITERAL = re.compile(r"[A-Za-z0-9_./:,=@%+^~!#-]+")
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE_TEXT = re.compile(r'[^"\\$`]+')
_PATTERN = "*?[]{}"
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp", "Mn", "Me"}


class NotPlain(Exception):
    """The text holds shell syntax whose meaning is not fixed by its letters; says which."""


@dataclass(frozen=True)
class Word:
    """One word: ``raw`` as written, ``text`` without quotes, and ``prefix``, the literal text
    before the first unquoted glob or brace character (None when there is none)."""

    raw: str
    text: str
    prefix: str | None = None

    @property
    def is_pattern(self) -> bool:
        return self.prefix is not None


@dataclass(frozen=True)
class Simple:
    """A simple command; ``start`` and ``end`` are character offsets of its words, ``stop`` the
    end with its redirections, ``joined`` the operator in front of it."""

    words: tuple[Word, ...]
    start: int
    end: int
    stop: int
    joined: str


def hidden_character(text: str) -> str | None:
    """The first character that people cannot see as what it is, or None; tab and newline pass."""
    if text.isascii() and text.isprintable():
        return None
    for char in text:
        if char not in "\n\t" and unicodedata.category(char) in _HIDDEN and char != " ":
            return char
    return None


def split(text: str) -> list[Simple]:
    """The simple commands of ``text`` in order; raises ``NotPlain``."""
    return _Reader(text).run()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[Simple] = []
        self.words: list[Word] = []
        self.start = self.end = self.stop = 0
        self.joined = ""
        self.redirected = False

    def run(self) -> list[Simple]:
        while self.at < len(self.text):
            if match := _BLANK.match(self.text, self.at):
                self.at = match.end()
            elif match := _HARMLESS_REDIRECT.match(self.text, self.at):
                self._redirect(match)
            elif match := _OPERATOR.match(self.text, self.at):
                self._operator(match)
            elif self.text[self.at] == "#":
                newline = self.text.find("\n", self.at)
                self.at = len(self.text) if newline < 0 else newline
            else:
                self._word()
        self._close("")
        return self.found

    def _redirect(self, match: re.Match[str]) -> None:
        if not self.words:
            raise NotPlain("a redirection stands before the command")
        self.redirected = True
        self.at = self.stop = match.end()

    def _operator(self, match: re.Match[str]) -> None:
        operator = match.group()
        if not self.words and operator != "\n":
            raise NotPlain(f"nothing stands before {operator!r}")
        self.at = match.end()
        if self.words:
            self._close(operator)

    def _close(self, operator: str) -> None:
        if self.words:
            words = tuple(self.words)
            self.found.append(Simple(words, self.start, self.end, self.stop, self.joined))
        self.words, self.redirected, self.joined = [], False, operator

    def _word(self) -> None:
        if self.redirected:
            raise NotPlain("words follow a redirection")
        begin = self.at
        parts: list[str] = []
        prefix: str | None = None
        while self.at < len(self.text) and self.text[self.at] not in " \t\n;|&<>":
            if self.text[self.at] in _PATTERN and prefix is None:
                prefix = "".join(parts)
            parts.append(self._piece())
        if begin == self.at:
            raise NotPlain(_refusal(self.text[self.at]))
        raw, text = self.text[begin : self.at], "".join(parts)
        _check_word(raw, self.text[self.at : self.at + 1])
        if not self.words:
            self.start = begin
        self.end = self.stop = self.at
        self.words.append(Word(raw, text, prefix))

    def _piece(self) -> str:
        char = self.text[self.at]
        if match := _LITERAL.match(self.text, self.at):
            self.at = match.end()
            return match.group()
        if char in _PATTERN:
            self.at += 1
            return char
        if match := _SINGLE.match(self.text, self.at):
            self.at = match.end()
            return match.group(1)
        if char == '"':
            return self._double()
        if char == "\\" and self.text[self.at + 1 : self.at + 2].strip():
            self.at += 2
            return self.text[self.at - 1]
        if not char.isascii() and not _looks_ascii(char):
            self.at += 1
            return char
        raise NotPlain(_refusal(char))

    def _double(self) -> str:
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            after = self.text[self.at + 1 : self.at + 2]
            if char == '"':
                self.at += 1
                return "".join(parts)
            if match := _DOUBLE_TEXT.match(self.text, self.at):
                self.at = match.end()
                parts.append(match.group())
            elif char == "\\" and after not in ("", "\n"):
                self.at += 2
                parts.append(after if after in '$`"\\' else char + after)
            elif char == "$" and after in ('"', " ", "|") and after:
                self.at += 1
                parts.append(char)
            else:
                raise NotPlain(_refusal(char))
        raise NotPlain("a double quote is not closed")


def _looks_ascii(char: str) -> bool:
    """Full-width letters and operators pass for ASCII; Chinese sentence marks deceive nobody."""
    return char not in "，：！？" and unicodedata.normalize("NFKC", char).isascii()


def _check_word(raw: str, after: str) -> None:
    if raw.startswith("~") and raw != "~" and not raw.startswith("~/"):
        raise NotPlain("it names another home directory with ~")
    if after and after in "<>" and (raw.isdigit() or raw.startswith("{")):
        raise NotPlain("it redirects input or output")


def _refusal(char: str) -> str:
    if char in "<>":
        return "it redirects input or output"
    if char in "$`":
        return "it has an expansion or a substitution"
    if char in "()":
        return "it has a subshell, a group or a function"
    if char == "&":
        return "it leaves a process running in the background"
    if char == "\\":
        return "a backslash joins or hides characters"
    if char in "'\"":
        return "a quote is not closed"
    return f"it holds the look-alike character U+{ord(char):04X}"
