"""Owns the three lists of the gate and how they bear on a command.

The shipped block list is always on; the allow list is off until an administrator sets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from tools.gate.patterns import Pattern, compile_pattern, hit, may_hit, script_names, trigger
from tools.gate.syntax import DYNAMIC, Call, Script, parse

_MOST_SNIPPETS = 32
_SNIPPET = 300
_PROGRAM_PATH = re.compile(r"(?:/usr(?:/local)?)?/s?bin/([^/]+)")


@lru_cache(maxsize=1024)
def compiled(text: str) -> Pattern:
    """The compiled rule; raises ``ValueError`` for one that names nothing."""
    return compile_pattern(text)


@dataclass(frozen=True)
class GateRules:
    """The lists, each a text in the language of ``tools.gate.patterns``.

    ``blocked`` is refused on every level; ``needs_approval`` is never ``read``; ``allowed``
    holds globs of program names, and when it is not None nothing else runs. Raises
    ``ValueError`` for a rule that names nothing.
    """

    blocked: tuple[str, ...] = ()
    needs_approval: tuple[str, ...] = ()
    allowed: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for text in (*self.blocked, *self.needs_approval):
            compiled(text)


DEFAULT_RULES = GateRules(
    blocked=("rm -rf /", "curl.*sh", "wget.*sh", ":*>*/etc/passwd"),
    needs_approval=(
        *("sudo", "su", "doas", "pkexec"),
        *("apt", "apt-get", "aptitude", "dpkg", "yum", "dnf", "rpm", "apk", "pacman", "snap"),
        *("systemctl", "service", "reboot", "shutdown", "halt", "poweroff"),
        *("mkfs*", "fdisk", "mount", "umount", "useradd", "usermod", "userdel", "passwd"),
        *("iptables", "nft", "crontab"),
    ),
)


def first_hit(texts: Sequence[str], scripts: Sequence[Script]) -> tuple[str, Call] | None:
    """The first rule of ``texts`` that applies, with the call that it applies to."""
    names = [script_names(script) for script in scripts]
    for text in texts:
        pattern = compiled(text)
        for script, present in zip(scripts, names, strict=True):
            if not may_hit(pattern, present):
                continue
            if call := hit(pattern, script):
                return text, call
    return None


def not_allowed(allowed: Sequence[str], scripts: Sequence[Script]) -> str | None:
    """What in ``scripts`` the allow list does not name, or None."""
    names = re.compile("|".join(_glob(glob) for glob in allowed) or r"(?!)")
    for call in (call for script in scripts for call in script.runs):
        if not call.words and not call.assigns:
            continue
        word = call.words[0] if call.words else ""
        if DYNAMIC in word or call.assigns:
            return "a variable or a name that is only known when it runs"
        if folder := _PROGRAM_PATH.fullmatch(word):
            word = folder.group(1)
        if not names.fullmatch(word):
            return word
    return None


def _glob(text: str) -> str:
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)) for char in text)


def snippets(texts: Sequence[str], rules: GateRules) -> list[Script] | None:
    """For texts too tangled to parse whole: the surroundings of each trigger of a block rule.

    None when there are too many of them to look at.
    """
    around = [
        text[start : start + _SNIPPET]
        for text in texts
        for start in islice(_places(text, rules), _MOST_SNIPPETS + 1)
    ]
    if len(around) > _MOST_SNIPPETS:
        return None
    return [script for snippet in around if (script := parse(snippet))]


def _places(text: str, rules: GateRules) -> Iterator[int]:
    words = {trigger(compiled(rule)) for rule in rules.blocked}
    quoted = ("[\"'\\\\]*".join(map(re.escape, word)) for word in sorted(words) if word)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(quoted) or '(?!)'})(?!\w)")
    last = -1
    for match in pattern.finditer(text):
        before = text[max(0, match.start() - 200) : match.start()]
        start = match.start() - len(re.split(r"[;&|\n(`{]", before)[-1])
        if start != last:
            yield start
        last = start
