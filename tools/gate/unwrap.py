"""Owns what hides behind a command: programs that run their arguments, and text given to a shell.

``sudo rm``, ``env X=1 rm``, ``find -exec rm``, ``bash -c 'rm'`` and ``echo rm | sh`` all run
rm; the rules must see it.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from tools.gate.syntax import PARSE_BUDGET, Call, Script, any_in, parse, starts

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh"})
"""Programs that run the text they are given; ``sh`` in a rule stands for all of them."""

# The options of each runner that take the next word, and how many operands come first.
_RUNNERS: dict[str, tuple[str, int]] = {
    "sudo": ("u g h p C T U D R r t", 0),
    "doas": ("u C", 0),
    "env": ("u C", 0),
    "nice": ("n", 0),
    "ionice": ("c n p", 0),
    "nohup": ("", 0),
    "time": ("f o", 0),
    "timeout": ("s k", 1),
    "setsid": ("", 0),
    "stdbuf": ("i o e", 0),
    "chroot": ("", 1),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("a", 0),
    "xargs": ("n P I d L a s E", 0),
    "busybox": ("", 0),
    "strace": ("e o p", 0),
    "watch": ("n", 0),
    "coproc": ("", 0),
    "eval": ("", 0),
}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_IFS = re.compile(r"\$\{IFS[^}]*\}|\$IFS(?!\w)(?:\$\d)?")
_BRACES = re.compile(r"((?:\A|[;&|\n(])[ \t]*)\{([^\s{}]+)\}")
_MOST_TEXTS = 24
_MOST_LAYERS = 12


@dataclass
class Unwrapped:
    """The parse of a text and of every text that it gives to a shell.

    ``scripts`` were parsed; ``missed`` are the texts that were not, or not without errors;
    ``first`` is the text itself, if parsed.
    """

    first: Script | None = None
    scripts: list[Script] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)


def unwrap_text(text: str) -> Unwrapped:
    """Parse ``text``, then what it hands to shells, as far as the budget goes."""
    result, began = Unwrapped(), time.thread_time()
    waiting = list(dict.fromkeys((text, _expanded(text))))
    while waiting and len(result.scripts) < _MOST_TEXTS:
        inner = waiting.pop(0)
        script = parse(inner, began + PARSE_BUDGET - time.thread_time())
        if inner is text:
            result.first = script
        if script is None or not script.whole:
            result.missed.append(inner)
        if script is None:
            continue
        unwrap(script)
        result.scripts.append(script)
        waiting.extend(islice(_given_to_shells(script), _MOST_TEXTS + 1))
    result.missed.extend(waiting)
    return result


def _expanded(text: str) -> str:
    """``text`` with the blanks that $IFS and a leading ``{a,b}`` turn into."""
    text = _IFS.sub(" ", text)
    return _BRACES.sub(lambda match: match.group(1) + match.group(2).replace(",", " "), text)


def unwrap(script: Script) -> None:
    """Add to ``script.runs`` every call, and what it runs in turn."""
    script.runs.extend(inner for call in script.calls for inner in _unwrapped(call))
    script.runs.sort(key=lambda call: call.span[0])


def _unwrapped(call: Call) -> Iterator[Call]:
    """The call itself, then the calls that it runs, to a fixed depth."""
    waiting = [call]
    for _ in range(_MOST_LAYERS):
        if not waiting:
            return
        call = waiting.pop()
        yield call
        if call.name == "find":
            waiting.extend(_find_actions(call))
        skip = _prefix_length(call)
        if 0 < skip < len(call.words):
            waiting.append(replace(call, words=call.words[skip:], raw=call.raw[skip:], writes=()))


def _prefix_length(call: Call) -> int:
    if call.name not in _RUNNERS:
        return 0
    takes_value, operands = _RUNNERS[call.name]
    letters = takes_value.split()
    index = 1
    while index < len(call.words):
        word = call.words[index]
        if word.startswith("-") and len(word) > 1:
            index += 2 if word[-1] in letters and not word.startswith("--") else 1
        elif _ASSIGNMENT.match(word):
            index += 1
        elif operands:
            operands, index = operands - 1, index + 1
        else:
            return index
    return index


def _find_actions(call: Call) -> Iterator[Call]:
    at = 0
    while at < len(call.words):
        if call.words[at] in ("-exec", "-execdir", "-ok", "-okdir"):
            begin = at = at + 1
            while at < len(call.words) and call.words[at] not in (";", "+"):
                at += 1
            if begin < at:
                yield replace(call, words=call.words[begin:at], raw=call.raw[begin:at], writes=())
        at += 1


def _given_to_shells(script: Script) -> Iterator[str]:
    for call in script.runs:
        if call.name in SHELLS or call.name == "su":
            yield from _after_option(call, "c")
        elif call.name == "env":
            yield from _after_option(call, "S")
        elif call.name in ("eval", "watch", "trap"):
            yield " ".join(call.words[1:])
    shells = starts(call for call in script.runs if call.name in SHELLS)
    if not shells:
        return
    yield from (text for body, text in script.heredocs if any_in(shells, body))
    speakers = [call for call in script.runs if call.name in ("echo", "printf")]
    spoken = [call.span[0] for call in speakers]
    for stages in script.pipelines:
        whole = (stages[0][0], stages[-1][1])
        if any_in(shells, whole):
            inside = slice(bisect_left(spoken, whole[0]), bisect_left(spoken, whole[1]))
            yield from (" ".join(call.words[1:]) for call in speakers[inside])


def _after_option(call: Call, letter: str) -> Iterator[str]:
    for index, word in enumerate(call.words[:-1]):
        if word.startswith("-") and not word.startswith("--") and word.endswith(letter):
            yield call.words[index + 1]
