"""What every page of a logged-in user shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from accounts.selectors.level import level_of
from tools.models import Approval


def portal(request: HttpRequest) -> dict[str, Any]:
    """``portal``: the user's level and how many approvals wait; nothing for strangers."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated or request.path.startswith("/admin/"):
        return {}
    waiting = Approval.objects.for_user(user).pending().count()
    return {"portal": {"level": level_of(user), "waiting": waiting}}
