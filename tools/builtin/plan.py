"""The agent's own to-do list, kept with the session."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from hermes_site.lib.errors import ModelRecoverable
from hermes_site.lib.text import clean
from memory.models import Session
from tools.declare import ToolContext, tool

STATES = ("pending", "in_progress", "done")
MAX_ITEMS = 50


@tool(
    name="todo",
    description=(
        "Keep a to-do list for this session. Without items: show it. With items: replace it. "
        "Use it for work of three or more steps, and mark steps as you go."
    ),
    category="read",
    parameters={
        "items": {
            "type": "array",
            "description": "The whole list, in order.",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "state": {"type": "string", "enum": list(STATES)},
                },
                "required": ["text", "state"],
                "additionalProperties": False,
            },
        }
    },
    timeout=10,
)
def todo(ctx: ToolContext, items: list[dict[str, Any]] | None = None) -> str:
    with transaction.atomic():
        session = Session.objects.for_user(ctx.user).select_for_update().fetch(ctx.session_id)
        if items is not None:
            if len(items) > MAX_ITEMS:
                raise ModelRecoverable(f"{len(items)} items are too many; at most {MAX_ITEMS}.")
            session.metadata["todo"] = [
                {"text": clean(item["text"])[:500], "state": item["state"]} for item in items
            ]
            session.save(update_fields=["metadata"])
    kept = session.metadata.get("todo", [])
    marks = {"pending": "[ ]", "in_progress": "[~]", "done": "[x]"}
    return "\n".join(f"{marks[i['state']]} {i['text']}" for i in kept) or "The list is empty."


TOOLS = [todo]
