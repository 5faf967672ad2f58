"""Loading the policy of a user, and judging calls by it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from accounts.models import User
from accounts.selectors.level import level_of
from hermes_site.lib.recent import Recent
from tools.arguments import digest
from tools.choices import Category, Outcome
from tools.declare import Classification, Tool
from tools.models import Grant, MatrixCell, ToolRule, ToolSwitch
from tools.policy import CallFacts, Decision, PolicyRows, Rule, weigh
from tools.registry import TOOLS
from tools.workspace import workspace_for

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PolicyTables:
    """The tables of the policy, for all users."""

    matrix: dict[tuple[str, str], str]
    rules: tuple[ToolRule, ...]
    off: dict[str, str]


def load_tables() -> PolicyTables:
    return PolicyTables(
        matrix={(c.level, c.category): c.outcome for c in MatrixCell.objects.all()},
        rules=tuple(ToolRule.objects.all()),
        off={s.tool: s.note for s in ToolSwitch.objects.filter(enabled=False)},
    )


# For showing tools to the model; what runs is decided from tables loaded at that moment.
POLICY_TABLES: Recent[PolicyTables] = Recent(load_tables)


def policy_rows(
    user: User,
    session_id: UUID | None = None,
    *,
    tables: PolicyTables | None = None,
    grants: bool = True,
) -> PolicyRows:
    """What holds for ``user`` now. Without ``tables`` they are loaded: a change of permission
    bites at the next call. ``grants`` False leaves those out, for tools as a whole."""
    tables, level = tables or load_tables(), level_of(user)
    groups: set[int] = set()
    if any(rule.group_id for rule in tables.rules):
        groups = set(user.groups.values_list("pk", flat=True))
    concern = [
        rule
        for rule in tables.rules
        if rule.scope == "everyone" or rule.user_id == user.pk or rule.group_id in groups
    ]
    return PolicyRows(
        level=level.level,
        level_source=level.source,
        matrix=tables.matrix,
        rules=tuple(
            Rule(r.scope, r.tool, r.outcome, r.argument, r.pattern, r.note) for r in concern
        ),
        off=tables.off,
        grants=_grants(user, session_id) if grants else frozenset(),
    )


def _grants(user: User, session_id: UUID | None) -> frozenset[tuple[str, str]]:
    held = Grant.objects.for_user(user).filter(Q(session=None) | Q(session_id=session_id))
    return frozenset(held.values_list("tool", "digest"))


def facts(user: User, tool: Tool, arguments: dict[str, Any]) -> CallFacts:
    """What a call of ``user`` is. A classifier that fails, or speaks an unknown word, means
    ``system``."""
    try:
        verdict = tool.classification(arguments, workspace_for(settings.HERMES_HOME, user.pk))
    except Exception:
        log.exception("classifier_failed tool=%s", tool.name)
        verdict = Classification(Category.SYSTEM, "It could not be judged.", parts=())
    category = verdict.category if verdict.category in Category.values else Category.SYSTEM
    return CallFacts(
        tool=tool.name,
        category=str(category),
        arguments=arguments,
        digest=digest(tool.name, arguments),
        forbidden=verdict.forbidden,
        why=verdict.why,
        must_ask=verdict.must_ask,
        parts=verdict.parts,
    )


def decide(
    user: User,
    tool: Tool,
    arguments: dict[str, Any],
    *,
    surface: str = "web",
    mode: str = "code",
    session_id: UUID | None = None,
    rows: PolicyRows | None = None,
) -> tuple[Decision, CallFacts]:
    """Judge one call of ``user``; pass ``rows`` to judge many with one loading."""
    call = facts(user, tool, arguments)
    return weigh(rows or policy_rows(user, session_id), call, surface=surface, mode=mode), call


def tools_for(
    user: User, *, surface: str = "web", mode: str = "code", rows: PolicyRows | None = None
) -> list[tuple[Tool, Decision]]:
    """The tools that the user may see (not refused for empty arguments), by name, each with
    what the policy says of it as a whole."""
    rows = rows or policy_rows(user, tables=POLICY_TABLES.get(), grants=False)
    seen = []
    for tool in sorted(TOOLS.all().values(), key=lambda tool: tool.name):
        decision = _overall(tool, rows, surface, mode)
        if decision.outcome != Outcome.DENY:
            seen.append((tool, decision))
    return seen


def _overall(tool: Tool, rows: PolicyRows, surface: str, mode: str) -> Decision:
    """The decision for the tool's own category; for one that judges its arguments, the milder
    of that and reading."""
    categories = [tool.category, Category.READ] if tool.classify else [tool.category]
    decisions = [
        weigh(rows, CallFacts(tool.name, str(c), {}, ""), surface=surface, mode=mode)
        for c in categories
    ]
    return next((d for d in decisions if d.outcome != Outcome.DENY), decisions[0])
