"""Owns the verdict on one shell command: what it is, whether it is forbidden, and why.

The gate is advice for policy and for the person at the approval card; the sandbox is the
boundary. It never raises, and whatever it does not understand is ``system``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.gate import git, readers
from tools.gate.git import GitCheck
from tools.gate.options import NotRead, Reads, read_arguments, word_set
from tools.gate.plain import NotPlain, Simple, hidden_character, split
from tools.gate.rules import DEFAULT_RULES, GateRules, first_hit, not_allowed, snippets
from tools.gate.syntax import Call, Script
from tools.gate.unwrap import Unwrapped, unwrap, unwrap_text

# Linux takes no single argument, so no `sh -c` text, beyond 128 KiB.
_MOST_TEXT = 131_000
_MOST_READ = 4096
_PLAIN_KINDS = word_set(
    """
program list pipeline command command_name word number string string_content raw_string
concatenation comment redirected_statement file_redirect file_descriptor test_command
unary_expression binary_expression negated_expression test_operator extglob_pattern
parenthesized_expression regex
    """
)
_CD = Reads("LP", operands=1)


@dataclass(frozen=True)
class Verdict:
    """``category`` is ``read`` or ``system``; ``forbidden`` means refused on every level.

    ``why`` is one sentence for people. ``commands`` are the exact texts that a remembered grant
    may name: each statement (a simple command or a whole pipeline) where the line is made of
    literal words, else the whole line; empty where nothing may be remembered.
    ``needs_approval`` means that a rule asks for a person even where ``system`` would not.
    """

    category: str
    forbidden: bool
    why: str
    commands: tuple[str, ...] = ()
    needs_approval: bool = False


def judge(
    command: str, rules: GateRules = DEFAULT_RULES, *, git_is_plain: GitCheck | None = None
) -> Verdict:
    """Judge ``command`` as bash would run it.

    ``git_is_plain`` answers for a folder, relative to where the command starts, whether the git
    settings found there name no program; without it git commands are ``system``.
    """
    if len(command) > _MOST_TEXT:
        return Verdict("system", True, "It is longer than a shell command can be.")
    found = unwrap_text(command)
    reading = _read_plainly(command, found.first)
    forbidden = _refusal(rules, found)
    if forbidden:
        return Verdict("system", True, forbidden, reading.statements)
    if asked := first_hit(rules.needs_approval, found.scripts):
        why = f"{_named(asked[1])} always needs an approval (rule {asked[0]!r})."
        return Verdict("system", False, why, reading.statements, needs_approval=True)
    if obstacle := reading.obstacle or _obstacle(command, reading.simples, git_is_plain):
        return Verdict("system", False, obstacle, reading.statements)
    why = f"Every command in it only reads: {_shown(command)}."
    return Verdict("read", False, why, reading.statements)


def _refusal(rules: GateRules, found: Unwrapped) -> str:
    """Why the block list or the allow list refuses; empty when they do not."""
    extra = snippets(found.missed, rules)
    if extra is None:
        return "It is too long and tangled to be checked against the block list; split it."
    for script in extra:
        unwrap(script)
    if blocked := first_hit(rules.blocked, [*found.scripts, *extra]):
        return f"{_named(blocked[1])} is on the block list (rule {blocked[0]!r})."
    if rules.allowed is None:
        return ""
    if found.missed:
        return "It cannot be parsed, so it cannot be checked against the allow list."
    outside = not_allowed(rules.allowed, found.scripts)
    return "" if outside is None else f"{_shown(outside)} is not on the allow list."


@dataclass(frozen=True)
class _Reading:
    """The line as a plain list of commands, or the ``obstacle`` to reading it so."""

    obstacle: str
    statements: tuple[str, ...] = ()
    simples: tuple[Simple, ...] = ()


def _read_plainly(text: str, script: Script | None) -> _Reading:
    if len(text) > _MOST_READ:
        return _Reading("It is too long to be proved to only read.")
    if char := hidden_character(text):
        return _Reading(f"It holds the invisible or misleading character U+{ord(char):04X}.")
    whole = (text.strip(),)
    try:
        simples = split(text)
    except NotPlain as problem:
        return _Reading(f"It is not proved to only read: {_shown(str(problem))}.", whole)
    if not simples:
        return _Reading("There is no command in it.")
    if script and "variable_assignment" in script.kinds:
        return _Reading("It sets a variable.", whole)
    if not _parsers_agree(text, simples, script):
        return _Reading("It does not parse as a plain list of commands.", whole)
    return _Reading("", _statements(text, simples), tuple(simples))


def _obstacle(text: str, simples: Sequence[Simple], git_is_plain: GitCheck | None) -> str:
    """Why a plain list of commands is not proved to only read; empty when it is."""
    for index, simple in enumerate(simples):
        try:
            _require_read(simple, simples[:index], git_is_plain)
        except NotRead as problem:
            part = _shown(text[simple.start : simple.stop])
            return f"{part} is not proved to only read: {_shown(str(problem))}."
    return ""


def _require_read(simple: Simple, before: Sequence[Simple], check: GitCheck | None) -> None:
    if readers.program_name(simple.words[0]) == "git":
        git.require_read(simple.words, _folders(before), check)
    else:
        readers.require_read(simple.words)


def _folders(before: Sequence[Simple]) -> list[str]:
    """Where a command may run: the starting folder, and the one that a ``cd`` may have entered."""
    moves = [simple for simple in before if simple.words[0].text == "cd"]
    if not moves:
        return [""]
    operands = read_arguments(_CD, moves[0].words[1:]).operands
    if len(moves) > 1 or not operands or operands[0].text == "-":
        raise NotRead("it is not clear in which folder git would run")
    return ["", operands[0].text]


def _parsers_agree(text: str, simples: Sequence[Simple], script: Script | None) -> bool:
    """Whether tree-sitter finds the same commands with the same words, and nothing else."""
    if script is None or not script.whole or not script.kinds <= _PLAIN_KINDS:
        return False
    if len(script.calls) != len(simples):
        return False
    for call, simple in zip(script.calls, simples, strict=True):
        first, last = simple.start, simple.end
        if call.span != (_bytes(text[:first]), _bytes(text[:last])):
            return False
        if call.raw[:1] != ("[",) and call.raw != tuple(word.raw for word in simple.words):
            return False
    return True


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))


def _statements(text: str, simples: Sequence[Simple]) -> tuple[str, ...]:
    """The texts between the operators that end a statement; a pipeline stays in one piece."""
    spans: list[tuple[int, int]] = []
    for simple in simples:
        if simple.joined in ("|", "|&") and spans:
            spans[-1] = (spans[-1][0], simple.stop)
        else:
            spans.append((simple.start, simple.stop))
    return tuple(text[start:stop] for start, stop in spans)


def _named(call: Call) -> str:
    return _shown(" ".join(call.words)) or "A redirection"


def _shown(text: str) -> str:
    """``text`` short and with every character visible."""
    cut = text if len(text) <= 120 else text[:119] + "…"
    return "".join(
        char if char.isprintable() and not hidden_character(char) else f"\\u{{{ord(char):04x}}}"
        for char in cut
    )
