"""The inbox: what waits for this person's yes, and what was decided."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from gateway.web.context import portal
from gateway.web.timeline import CallLine
from tools.models import Approval

HISTORY = 30


@login_required
@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """Pending ones, the first to expire on top; the newest decisions below."""
    return render(request, "portal/approvals.html", _lines(request))


@login_required
@require_GET
def inbox(request: HttpRequest) -> HttpResponse:
    """The same without the frame, for a page that is open."""
    return render(request, "portal/parts/inbox.html", _lines(request))


@login_required
@require_GET
def waiting(request: HttpRequest) -> JsonResponse:
    """How many wait, for the top of every page: ``{waiting}``."""
    return JsonResponse({"waiting": portal(request)["portal"]["waiting"]})


def _lines(request: HttpRequest) -> dict[str, Any]:
    mine = Approval.objects.for_user(request.user).select_related(
        "tool_call", "session", "decided_by"
    )
    pending = mine.pending().order_by("expires_at")
    settled = mine.exclude(decision=None).order_by("-decided_at")[:HISTORY]
    return {
        "pending": [CallLine(approval.tool_call, approval) for approval in pending],
        "settled": [CallLine(approval.tool_call, approval) for approval in settled],
    }
