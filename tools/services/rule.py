"""Setting tool rules."""

from __future__ import annotations

import re
from typing import Any

from django.db import transaction

from accounts.services import audit_record
from accounts.services.limit import subject_fields
from hermes_site.lib.errors import UserFacing
from hermes_site.lib.text import clean
from tools.choices import Outcome
from tools.models import ToolRule
from tools.policy import matches
from tools.registry import TOOLS
from tools.selectors.policy import POLICY_TABLES

_NAME = re.compile(r"[a-zA-Z0-9_*-]{1,128}")


def rule_set(
    *,
    subject: str,
    tool: str,
    outcome: str,
    actor: Any,
    argument: str = "",
    pattern: str = "",
    note: str = "",
) -> tuple[ToolRule, bool]:
    """Set the rule of ``subject`` (``everyone``, ``group:NAME``, ``user:EMAIL``) for ``tool``,
    in place of the one with the same condition. Returns it and whether any tool fits it now.

    Raises ``UserFacing``.
    """
    if outcome not in Outcome.values:
        raise UserFacing(f"Outcome {outcome!r} is not one of {', '.join(Outcome.values)}.")
    if not _NAME.fullmatch(tool):
        raise UserFacing(f"Tool {tool[:128]!r} is no name: use letters, digits, _, - and *.")
    if bool(argument) != bool(pattern):
        raise UserFacing("A condition has both: an argument's name, and what it must match.")
    if len(argument) > 64 or len(pattern) > 500:
        raise UserFacing("The argument's name may have 64 characters, what it matches 500.")
    where = {**subject_fields(subject), "tool": tool, "argument": argument, "pattern": pattern}
    with transaction.atomic():
        ToolRule.objects.filter(**where).delete()
        rule = ToolRule.objects.create(**where, outcome=outcome, note=clean(note)[:200])
        condition = {"argument": argument, "matches": pattern} if argument else {}
        audit_record(
            "rule.set",
            actor=actor,
            target=subject,
            data={"tool": tool, "outcome": outcome, **condition},
        )
    POLICY_TABLES.clear()
    return rule, any(matches(tool, name) for name in TOOLS.all())
