"""The inbox: what waits for this person's yes, and what was decided."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from gateway.web.timeline import CallLine
from tools.models import Approval

HISTORY = 30


@login_required
@require_GET
def inbox(request: HttpRequest) -> HttpResponse:
    """Pending ones, the first to expire on top; the newest decisions below."""
    mine = Approval.objects.for_user(request.user).select_related(
        "tool_call", "session", "decided_by"
    )
    pending = mine.filter(decision=None).order_by("expires_at")
    settled = mine.exclude(decision=None).order_by("-decided_at")[:HISTORY]
    context = {
        "pending": [CallLine(approval.tool_call, approval) for approval in pending],
        "settled": [CallLine(approval.tool_call, approval) for approval in settled],
    }
    return render(request, "portal/approvals.html", context)
