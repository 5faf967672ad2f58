"""Owns the language of rules: short texts that an administrator writes, matched on the parse.

Three forms, told apart by ``>`` and ``|``:

``rm -rf /``
    A command. The first word is the program without its folder; words with ``-`` are options
    that must all be there, in any order, bundled or not, short or long (``-r --force`` is
    ``-rf``); every other word must match an operand, in this order. ``*``, ``?`` and ``[…]``
    work in names and operands. A path is compared by its meaning: ``/`` also matches ``//``,
    ``/.``, ``/tmp/..`` and ``/*``, but not ``/tmp``.
``curl | sh`` (also written ``curl.*sh``)
    The output of the first reaches the second, in a pipeline or put in by a substitution.
    ``sh`` on the right stands for every shell, and for ``eval`` and ``source``.
``* > */etc/passwd`` (also written ``:*>*/etc/passwd``)
    The command on the left (``*``, ``:*`` or nothing: any) writes a path that matches the right
    side: by redirection, or as the target of tee, cp, mv, dd and their like.

Text inside quotes is an operand, never a command, so ``echo 'rm -rf /'`` matches nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise

from tools.gate.syntax import DYNAMIC, Call, Script, Span, any_in, starts
from tools.gate.unwrap import SHELLS

_REFERENCE_FLOW = re.compile(r"([\w-]+)\.\*([\w-]+)")
_SAME_OPTION = [{"-r", "-R", "--recursive"}, {"-f", "--force"}]
_LAST_IS_TARGET = {"cp", "mv", "install", "ln", "rsync", "scp"}
_ALL_ARE_TARGETS = {"tee", "truncate", "shred", "sponge"}
_OUTPUT_OPTIONS = {"sort": "-o", "curl": "-o", "wget": "-O", "gcc": "-o", "cp": "-t", "mv": "-t"}
_EVERYTHING = re.compile(r"\*+|\.\*|\.?\?|\{\*,\.\*\}|")
_LONGEST_PATH = 4096  # PATH_MAX of Linux


@dataclass(frozen=True)
class CommandPattern:
    """A program with the options and operands that it must have."""

    name: str
    options: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()

    def matches(self, call: Call) -> bool:
        if not call.words or not _name_matches(self.name, call.name):
            return False
        given, operands = _sorted_words(call.words[1:])
        if not all(_has_option(option, given) for option in self.options):
            return False
        rest = iter(operands)
        return all(any(_operand_matches(glob, word) for word in rest) for glob in self.operands)


@dataclass(frozen=True)
class FlowPattern:
    """A source whose output reaches a sink."""

    source: CommandPattern
    sink: CommandPattern

    def hit(self, script: Script) -> Call | None:
        sources = [call for call in script.runs if self.source.matches(call)]
        sinks = [call for call in script.runs if self._is_sink(call)] if sources else []
        begins = starts(sources)
        for sink in sinks:
            # What is put into the sink's own words begins after its first letter.
            if any_in(begins, (sink.span[0] + 1, sink.span[1])):
                return sink
        reached = [after for before, after in _flows(script) if any_in(begins, before)]
        into = starts(sinks)
        if any(any_in(into, after) for after in reached):
            return next(s for s in sinks if any(a[0] <= s.span[0] < a[1] for a in reached))
        return None

    def _is_sink(self, call: Call) -> bool:
        shells = SHELLS | {"eval", "source", "."} if self.sink.name == "sh" else set()
        return call.name in shells or self.sink.matches(call)


@dataclass(frozen=True)
class WritePattern:
    """A command that writes a path."""

    writer: CommandPattern | None
    path: str

    def hit(self, script: Script) -> Call | None:
        for call in script.runs:
            if self.writer is None or self.writer.matches(call):
                for path in _written(call):
                    if _operand_matches(self.path, path):
                        return call
        return None


Pattern = CommandPattern | FlowPattern | WritePattern


def compile_pattern(text: str) -> Pattern:
    """The rule that ``text`` states; raises ``ValueError`` for one that names nothing."""
    if ">" in text:
        left, right = text.split(">", 1)
        left, right = left.strip(), right.strip(" >")
        if not right:
            raise ValueError(f"Rule {text!r} names no path after >.")
        return WritePattern(None if left in ("", "*", ":*") else _command(left, text), right)
    if flow := _REFERENCE_FLOW.fullmatch(text.strip()):
        return FlowPattern(CommandPattern(flow.group(1)), CommandPattern(flow.group(2)))
    if "|" in text:
        left, right = text.split("|", 1)
        return FlowPattern(_command(left, text), _command(right, text))
    return _command(text, text)


def hit(pattern: Pattern, script: Script) -> Call | None:
    """The call in ``script`` that ``pattern`` is about, or None."""
    if isinstance(pattern, CommandPattern):
        return next((call for call in script.runs if pattern.matches(call)), None)
    return pattern.hit(script)


def script_names(script: Script) -> frozenset[str]:
    """The names of all programs in ``script``."""
    return frozenset(call.name for call in script.runs)


def may_hit(pattern: Pattern, names: frozenset[str]) -> bool:
    """Whether a script with these program names is worth a look: a shortcut, never a verdict."""
    if isinstance(pattern, FlowPattern):
        return may_hit(pattern.source, names)
    if isinstance(pattern, WritePattern):
        return True
    return any(_name_matches(pattern.name, name) for name in names)


def trigger(pattern: Pattern) -> str:
    """Literal text without which the pattern cannot match plainly written text."""
    if isinstance(pattern, CommandPattern):
        return max(re.split(r"[*?\[\]]", pattern.name), key=len)
    if isinstance(pattern, FlowPattern):
        return trigger(pattern.source)
    return max(re.split(r"[*?\[\]/]", pattern.path), key=len)


def _command(text: str, whole: str) -> CommandPattern:
    words = text.split()
    if not words or words[0].startswith("-"):
        raise ValueError(f"Rule {whole!r} names no command.")
    options, operands = _sorted_words(words[1:])
    return CommandPattern(words[0], tuple(sorted(options)), tuple(operands))


def _sorted_words(words: Sequence[str]) -> tuple[set[str], list[str]]:
    """Options (bundles also taken apart) and operands."""
    options: set[str] = set()
    operands: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            operands.extend(words[index + 1 :])
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
        elif word.startswith("--") or len(word) == 2:
            options.add(word.partition("=")[0])
        else:
            options.update("-" + letter for letter in word[1:])
    return options, operands


def _has_option(option: str, given: set[str]) -> bool:
    same = next((group for group in _SAME_OPTION if option in group), {option})
    # Programs take a long option that is cut short, as long as it is not ambiguous.
    cut = any(
        g.startswith("--") and len(g) > 4 and any(s.startswith(g) for s in same) for g in given
    )
    return bool(same & given) or cut


def _name_matches(pattern: str, name: str) -> bool:
    """A name that the shell would complete (``r?``) counts as every name that it can become."""
    if fnmatchcase(name, pattern):
        return True
    return any(c in name for c in "*?[") and name.strip("*") != "" and fnmatchcase(pattern, name)


def _operand_matches(glob: str, word: str) -> bool:
    if DYNAMIC in word:
        return False
    return fnmatchcase(word, glob) or fnmatchcase(_meant_path(word), glob)


def _meant_path(word: str) -> str:
    """The path that a word names; ``/tmp/*`` counts as ``/tmp``, for all in it is meant."""
    if "/" not in word or len(word) > _LONGEST_PATH:
        return word
    parts = word.split("/")
    while len(parts) > 1 and _EVERYTHING.fullmatch(parts[-1]):
        parts.pop()
    path = posixpath.normpath("/".join(parts) or "/")
    return "/" + path.lstrip("/") if path.startswith("/") else path


def _flows(script: Script) -> Iterator[tuple[Span, Span]]:
    """Pairs of places such that what is printed in the first is read in the second."""
    for stages in script.pipelines:
        for before, after in pairwise(stages):
            yield (stages[0][0], before[1]), (after[0], stages[-1][1])
    for body, redirects in script.redirected:
        yield redirects, body


def _written(call: Call) -> Iterator[str]:
    yield from call.writes
    _, operands = _sorted_words(call.words[1:])
    if call.name in _ALL_ARE_TARGETS:
        yield from operands
    elif call.name in _LAST_IS_TARGET and len(operands) > 1:
        yield operands[-1]
    elif call.name == "dd":
        yield from (word[3:] for word in call.words if word.startswith("of="))
    elif call.name == "sed" and any(w.startswith(("-i", "--in-place")) for w in call.words):
        yield from operands
    option = _OUTPUT_OPTIONS.get(call.name)
    for index, word in enumerate(call.words):
        if word.startswith(("--output=", "--output-document=")):
            yield word.partition("=")[2]
        elif option and word == option and index + 1 < len(call.words):
            yield call.words[index + 1]
        elif option and word.startswith(option):
            yield word[len(option) :]
