"""The first page of the administration: health, use, cost, and what waits."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from django.db import DatabaseError, connection
from django.db.models import Count, Q, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from redis.exceptions import RedisError

from accounts.models import User
from agents.choices import OPEN, RunState
from agents.models import Run
from hermes_site.lib import clock
from hermes_site.lib.alive import KINDS, alive
from hermes_site.lib.redis import client
from memory.choices import Role
from memory.models import Message
from tools.models import Approval, ToolCall

# How many of the people who used it most are named.
_TOP = 8


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add ``health``, ``numbers``, ``runs`` and ``people`` to the page's context."""
    today = datetime.combine(timezone.localdate(), time.min, timezone.get_current_timezone())
    return {
        **context,
        "health": health(),
        "numbers": numbers(today),
        "runs": runs(today),
        "people": people(today),
    }


def health() -> list[dict[str, Any]]:
    """``{"name", "ok", "words"}`` of each thing that the portal needs."""
    found = [_check(gettext("Database"), _database()), _check("Redis", _redis())]
    try:
        workers = alive()
    except RedisError:
        workers = dict.fromkeys(KINDS, False)
    return found + [
        _check(gettext("Worker %(kind)s") % {"kind": kind}, ok) for kind, ok in workers.items()
    ]


def numbers(today: datetime) -> list[dict[str, Any]]:
    """The figures of the day, each with a link to its rows."""
    said = Message.objects.filter(created_at__gte=today, role=Role.USER).aggregate(
        messages=Count("pk"), users=Count("user", distinct=True)
    )
    spent = Run.objects.filter(created_at__gte=today).aggregate(
        put=Sum("input_tokens"), got=Sum("output_tokens")
    )
    calls = ToolCall.objects.filter(created_at__gte=today).count()
    tokens = (spent["put"] or 0) + (spent["got"] or 0)
    return [
        _figure(gettext("Active today"), said["users"], "accounts_user"),
        _figure(gettext("Messages today"), said["messages"], "memory_message"),
        _figure(gettext("Tool calls today"), calls, "tools_toolcall"),
        _figure(gettext("Tokens today"), tokens, "agents_run"),
        _figure(
            gettext("Approvals waiting"), approvals_waiting(), "tools_approval", "?pending=yes"
        ),
    ]


def runs(today: datetime) -> list[dict[str, Any]]:
    """How many runs are in each state: the open ones, and those that ended today."""
    states = dict(
        Run.objects.filter(Q(state__in=OPEN) | Q(finished_at__gte=today))
        .order_by()
        .values_list("state")
        .annotate(Count("pk"))
    )
    url = reverse("admin:agents_run_changelist")
    return [
        {
            "state": state.value,
            "label": state.label,
            "count": states.get(state.value, 0),
            "url": f"{url}?state__exact={state.value}",
        }
        for state in RunState
    ]


def people(today: datetime) -> list[dict[str, Any]]:
    """Who wrote most today: ``{"email", "messages", "url"}``."""
    rows = (
        User.objects.filter(chat_sessions__messages__created_at__gte=today)
        .filter(chat_sessions__messages__role=Role.USER)
        .annotate(messages=Count("chat_sessions__messages"))
        .order_by("-messages", "email")[:_TOP]
    )
    return [
        {
            "email": user.email,
            "messages": user.messages,
            "url": reverse("admin:accounts_user_change", args=[user.pk]),
        }
        for user in rows
    ]


def approvals_waiting(request: HttpRequest | None = None) -> int:
    """How many questions wait for a person's answer; also the badge in the side bar."""
    return Approval.objects.filter(decision=None, expires_at__gt=clock.now()).count()


def _check(name: str, ok: bool) -> dict[str, Any]:
    return {"name": name, "ok": ok, "words": gettext("works") if ok else gettext("is away")}


def _figure(label: str, value: int, view: str, query: str = "") -> dict[str, Any]:
    return {"label": label, "value": value, "url": reverse(f"admin:{view}_changelist") + query}


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _redis() -> bool:
    try:
        return bool(client().ping())
    except RedisError:
        return False
