"""How lists and forms show levels, states and links."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

# Colours of unfold's labels.
LEVEL_COLOURS = {"safe": "success", "auto": "info", "full-access": "warning"}
OUTCOME_COLOURS = {"auto": "success", "confirm": "warning", "deny": "danger"}
STATE_COLOURS = {
    "completed": "success",
    "running": "info",
    "streaming": "info",
    "waiting": "warning",
    "unknown": "warning",
    "failed": "danger",
    "denied": "danger",
}


def row_link(view: str, id: Any, words: str = "") -> SafeString | str:
    """A link to a page of the administration, by view name and row id; short, without content."""
    if not id:
        return "–"
    url = reverse(f"admin:{view}_change", args=[id])
    return format_html('<a class="portal-link" href="{}">{}</a>', url, words or short(id))


def short(id: Any) -> str:
    """The end of an id: enough to tell two rows apart by eye."""
    return str(id)[-12:]
