"""Switching a tool off, and on again, for everybody."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from accounts.services import audit_record
from hermes_site.lib.errors import NotFound
from hermes_site.lib.text import clean
from tools.models import ToolSwitch
from tools.registry import TOOLS
from tools.selectors.policy import POLICY_TABLES


def switch_set(
    *, tool: str, enabled: bool, actor: Any, note: str = "", via: str = ""
) -> ToolSwitch:
    """Switch ``tool``; ``note`` is the reason shown to those whose call is refused.

    Raises ``NotFound`` for a name that is neither a tool nor has a switch.
    """
    with transaction.atomic():
        known = TOOLS.get(tool) or ToolSwitch.objects.filter(tool=tool).exists()
        if not known:
            raise NotFound(f"There is no tool named {tool[:64]!r}.")
        note = "" if enabled else clean(note).strip()[:200]
        switch, _ = ToolSwitch.objects.update_or_create(
            tool=tool, defaults={"enabled": enabled, "note": note}
        )
        audit_record(
            "tool.switched_on" if enabled else "tool.switched_off",
            actor=actor,
            target=tool,
            via=via,
            data={"note": note} if note else {},
        )
        transaction.on_commit(POLICY_TABLES.clear)
    return switch
