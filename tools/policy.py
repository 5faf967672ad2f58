"""What may run: a pure judgement over rows, default deny, with its reasons.

The order is fixed (docs/security.md): hard floor, tool off, tool rules, remembered grants,
matrix cell, session mode, unattended surfaces. The last two only tighten.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tools.choices import Category, Outcome

ORDER = (Outcome.AUTO, Outcome.CONFIRM, Outcome.DENY)
SCOPES = ("user", "group", "everyone")
# Doors at which nobody sits: what would ask is refused there.
UNATTENDED = frozenset({"schedule", "webhook"})


@dataclass(frozen=True)
class Rule:
    """One ``ToolRule`` row that concerns the user."""

    scope: str
    tool: str
    outcome: str
    argument: str = ""
    pattern: str = ""
    note: str = ""


@dataclass(frozen=True)
class PolicyRows:
    """Everything that is looked at, as loaded for one user and session.

    ``off`` maps tool to the administrator's note; ``grants`` holds (tool, digest).
    """

    level: str
    level_source: str = ""
    matrix: dict[tuple[str, str], str] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    off: dict[str, str] = field(default_factory=dict)
    grants: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class CallFacts:
    """One call as it would run. ``must_ask`` and ``parts`` as in ``declare.Classification``."""

    tool: str
    category: str
    arguments: dict[str, Any]
    digest: str
    forbidden: bool = False
    why: str = ""
    must_ask: bool = False
    parts: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Decision:
    """``trace`` lists (step, outcome, why) in the order looked at; ``why`` is the deciding one."""

    outcome: str
    trace: tuple[tuple[str, str, str], ...]

    @property
    def why(self) -> str:
        return next(
            (why for _, outcome, why in reversed(self.trace) if outcome == self.outcome), ""
        )


def weigh(rows: PolicyRows, call: CallFacts, *, surface: str, mode: str) -> Decision:
    """Decide one call. Unknown words anywhere never open anything."""
    trace: list[tuple[str, str, str]] = []
    outcome = _base(rows, call, trace)
    if outcome not in ORDER:
        trace.append(("unknown", Outcome.DENY, f"The policy holds an unknown word {outcome!r}."))
        outcome = Outcome.DENY
    tightened = _mode(call, outcome, mode)
    if tightened:
        outcome = tightened[0]
        trace.append(("mode", *tightened))
    if surface in UNATTENDED and outcome == Outcome.CONFIRM:
        outcome = Outcome.DENY
        trace.append(("unattended", outcome, f"Nobody can be asked at the door {surface!r}."))
    return Decision(str(outcome), tuple((step, str(o), why) for step, o, why in trace))


def _base(rows: PolicyRows, call: CallFacts, trace: list[tuple[str, str, str]]) -> str:
    if call.forbidden:
        trace.append(("floor", Outcome.DENY, call.why or "Forbidden on every level."))
        return Outcome.DENY
    if call.tool in rows.off:
        note = rows.off[call.tool]
        trace.append(("off", Outcome.DENY, note or f"{call.tool} is switched off."))
        return Outcome.DENY
    rule = _rule(rows.rules, call)
    if rule:
        why = rule.note or f"Rule for {rule.scope}: {rule.tool} is {rule.outcome}."
        trace.append(("rule", rule.outcome, why))
        return rule.outcome
    cell = rows.matrix.get((rows.level, call.category), Outcome.DENY)
    why = f"Level {rows.level} ({rows.level_source}), category {call.category}: {cell}."
    if call.why:
        why = f"{why} {call.why}"
    trace.append(("matrix", cell, why))
    remembered = not call.must_ask and (call.tool, call.digest) in rows.grants
    if remembered and cell == Outcome.CONFIRM:
        trace.append(("grant", Outcome.AUTO, "You allowed this exact call before."))
        return Outcome.AUTO
    if call.must_ask and cell == Outcome.AUTO:
        trace.append(("list", Outcome.CONFIRM, call.why or "Such a call is always asked about."))
        return Outcome.CONFIRM
    return cell


def _mode(call: CallFacts, outcome: str, mode: str) -> tuple[str, str] | None:
    """What the session's mode makes of ``outcome``, if it tightens it."""
    if mode == "plan" and call.category != Category.READ and outcome != Outcome.DENY:
        return Outcome.DENY, "Plan mode: only reading runs. Finish the plan and leave plan mode."
    if mode not in ("plan", "code") and outcome == Outcome.AUTO:
        return Outcome.CONFIRM, "Ask mode: each call is confirmed."
    return None


def _rule(rules: tuple[Rule, ...], call: CallFacts) -> Rule | None:
    """The rule that decides: the narrowest scope that has one; there deny wins, then a rule
    about an argument, then one that names the tool exactly, then the stricter."""
    for scope in SCOPES:
        fitting = [rule for rule in rules if rule.scope == scope and _fits(rule, call)]
        if fitting:
            return max(fitting, key=_weight)
    return None


def _weight(rule: Rule) -> tuple[bool, bool, bool, int]:
    strictness = ORDER.index(rule.outcome) if rule.outcome in ORDER else len(ORDER)
    return rule.outcome == Outcome.DENY, bool(rule.argument), "*" not in rule.tool, strictness


def _fits(rule: Rule, call: CallFacts) -> bool:
    if not matches(rule.tool, call.tool):
        return False
    if not rule.argument:
        return True
    value = call.arguments.get(rule.argument)
    if value is None:
        return False
    if not matches(rule.pattern, value if isinstance(value, str) else repr(value)):
        return False
    if rule.outcome == Outcome.AUTO and call.parts is not None:
        # ``git *`` must not open ``git status; rm x``: each command of the line has to fit.
        return bool(call.parts) and all(matches(rule.pattern, part) for part in call.parts)
    return True


def matches(pattern: str, text: str) -> bool:
    """Whether ``text`` is ``pattern``, in which ``*`` stands for any run of characters."""
    return bool(re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.S))
