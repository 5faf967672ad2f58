"""What a saved form changed, as the audit trail keeps it: old and new values, never secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.db.models import Model
from django.forms import BaseForm, Field, ModelChoiceField

_SECRET = re.compile(r"password|secret|token|digest|hash|code|key", re.I)
HIDDEN = "(hidden)"


def form_changes(form: BaseForm) -> dict[str, dict[str, Any]]:
    """``{field: {"from", "to"}}`` of a valid form, for the fields whose value is another now."""
    return {
        name: {
            "from": plain(name, form.get_initial_for_field(field, name), field),
            "to": plain(name, form.cleaned_data.get(name), field),
        }
        for name, field in form.fields.items()
        if name in form.changed_data
    }


def plain(name: str, value: Any, field: Field | None = None) -> Any:
    """``value`` as a word, a number or a sorted list of words."""
    if value in (None, ""):
        return None
    if _SECRET.search(name):
        return HIDDEN
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict):
        return sorted(str(item) for item in value)
    if isinstance(field, ModelChoiceField) and not isinstance(value, Model):
        row = field.queryset.filter(pk=value).first() if field.queryset is not None else None
        return str(row or value)
    return value if isinstance(value, bool | int | float | dict) else str(value)
