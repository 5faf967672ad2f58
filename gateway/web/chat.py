"""The chat page and the fragments that keep it alive."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from agents.accounts import choose
from agents.choices import OPEN
from agents.models import Run
from gateway.selectors.snapshot import current_seq, live_text
from gateway.web.markdown import blocks
from gateway.web.timeline import PAGE, entries, timeline
from hermes_site.lib.errors import PortalError
from memory.models import Message, Session
from memory.services import session_create
from tools.models import Approval

# Rows of the session list at first and with each "Show more", and at most.
SESSIONS, MOST_SESSIONS = 100, 2000


@login_required
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """An empty conversation; its session is made by the first message."""
    return render(request, "portal/chat.html", _frame(request, None))


@login_required
@require_POST
def new(request: HttpRequest) -> HttpResponse:
    """Make a session and go there."""
    return redirect("session", session_create(request.user).pk)  # type: ignore[arg-type]


@login_required
@require_GET
def session(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """One conversation. The number is read before the rows, so that no event falls between."""
    found = _session(request, session_id)
    seq = current_seq(session_id)
    return render(request, "portal/chat.html", _frame(request, found, seq=seq))


@login_required
@require_GET
def conversation(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """The messages alone: after a gap, and for older ones (``?before=position``)."""
    found = _session(request, session_id)
    raw = request.GET.get("before", "")
    before = int(raw) if raw.isdecimal() and len(raw) < 16 else None
    shown = timeline(request.user, found, before=before)  # type: ignore[arg-type]
    context = {"session": found, "entries": shown, "older": _older(shown)}
    return render(request, "portal/parts/conversation.html", context)


@login_required
@require_GET
def message(request: HttpRequest, session_id: UUID, message_id: UUID) -> HttpResponse:
    """One message with its calls and cards, as the page shows it."""
    found = _session(request, session_id)
    row = Message.objects.for_user(request.user).filter(session=found).fetch(message_id)
    (entry,) = entries(request.user, [row])  # type: ignore[arg-type]
    return render(request, "portal/parts/message.html", {"session": found, "entry": entry})


@login_required
@require_GET
def finished_blocks(request: HttpRequest, session_id: UUID, message_id: UUID) -> JsonResponse:
    """The blocks of a streaming message that will not change any more, from ``?from=`` on:
    ``{html, count, upto}``; ``upto`` is where they end in the text, in UTF-16 units."""
    _session(request, session_id)
    raw = request.GET.get("from", "0")
    start = int(raw) if raw.isdecimal() and len(raw) < 9 else 0
    done = blocks(live_text(session_id, message_id))[:-1]
    fresh = done[start:]
    return JsonResponse(
        {
            "html": "".join(block.html for block in fresh),
            "count": len(done),
            "upto": done[-1].end if done else 0,
        }
    )


@login_required
@require_GET
def session_list(request: HttpRequest) -> HttpResponse:
    """The list at the left, in its groups."""
    raw = request.GET.get("current", "")
    return render(request, "portal/parts/sessions.html", _sessions(request, raw))


def _session(request: HttpRequest, session_id: UUID) -> Session:
    found: Session = Session.objects.for_user(request.user).fetch(session_id)
    return found


def _frame(request: HttpRequest, found: Session | None, seq: int = 0) -> dict[str, Any]:
    shown = timeline(request.user, found) if found else []  # type: ignore[arg-type]
    running = _open_runs(request, found)
    return {
        "session": found,
        "seq": seq,
        "entries": shown,
        "older": _older(shown),
        "running": running[0] if running else None,
        "model": _model(found),
        "max_message": settings.HERMES_MAX_MESSAGE,
        "home": settings.HERMES_PUBLIC_URL,
        **_sessions(request, str(found.pk) if found else ""),
    }


def _open_runs(request: HttpRequest, found: Session | None) -> list[Run]:
    runs = Run.objects.for_user(request.user).filter(session=found, state__in=OPEN)
    return list(runs.order_by("number")) if found else []


def _older(shown: list[Any]) -> int | None:
    """The position before which there may be more."""
    return min(entry.message.position for entry in shown) if len(shown) == PAGE else None


def _model(found: Session | None) -> str:
    try:
        return choose(found.model if found else "").label
    except PortalError:
        return ""


def _sessions(request: HttpRequest, current: str) -> dict[str, Any]:
    found = Session.objects.for_user(request.user).filter(archived_at=None)
    if wanted := request.GET.get("q", "")[:100]:
        found = found.filter(title__icontains=wanted)
    shown = _whole(request.GET.get("show"), SESSIONS, MOST_SESSIONS)
    rows = list(found.order_by("-pinned", "-last_active_at", "-id")[: shown + 1])
    more = shown + SESSIONS if len(rows) > shown and shown < MOST_SESSIONS else 0
    rows = rows[:shown]
    ids = [row.pk for row in rows]
    running = set(
        Run.objects.for_user(request.user)
        .filter(session__in=ids, state__in=OPEN)
        .values_list("session_id", flat=True)
    )
    waiting = set(
        Approval.objects.for_user(request.user)
        .pending()
        .filter(session__in=ids)
        .values_list("session_id", flat=True)
    )
    today = timezone.localdate()
    groups: dict[str, list[dict[str, Any]]] = {
        "pinned": [],
        "today": [],
        "yesterday": [],
        "earlier": [],
    }
    for row in rows:
        days = (today - timezone.localdate(row.last_active_at)).days
        when = "today" if days <= 0 else "yesterday" if days == 1 else "earlier"
        groups["pinned" if row.pinned else when].append(
            {"row": row, "running": row.pk in running, "waiting": row.pk in waiting}
        )
    return {"groups": groups, "current": current, "more": more}


def _whole(raw: str | None, least: int, most: int) -> int:
    """A number of the address, within bounds."""
    number = int(raw) if raw and raw.isascii() and raw.isdecimal() and len(raw) < 10 else least
    return max(least, min(number, most))
