"""Approvals: what was asked of whom and how it was answered, without the arguments."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from accounts.admin.base import MetadataAdmin
from accounts.admin.words import row_link
from hermes_site.lib import clock
from tools.choices import ApprovalDecision
from tools.models import Approval


class PendingFilter(admin.SimpleListFilter):
    title = _("waits for an answer")
    parameter_name = "pending"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", gettext("Yes")), ("no", gettext("No"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if self.value() == "yes":
            return queryset.filter(decision=None, expires_at__gt=clock.now())
        return queryset.exclude(decision=None) if self.value() == "no" else queryset


@admin.register(Approval)
class ApprovalAdmin(MetadataAdmin):
    content = ("arguments", "command", "reason")
    paginator = InfinitePaginator
    show_full_result_count = False
    list_display = (
        "tool", "user", "category", "decision_word", "decided_by", "via", "created_at",
        "expires_at", "decided_at",
    )  # fmt: skip
    list_filter = (PendingFilter, "decision", "category", "via", "created_at")
    search_fields = ("user__email", "tool")
    list_select_related = ("user", "decided_by")
    id_fields = ("pk", "run_id", "session_id", "tool_call_id")
    link_lookups = ("user", "session", "run_id")
    fields = (
        "id", "tool", "user", "session_link", "run_link", "call_link", "category", "why",
        "digest", "created_at", "expires_at", "decision", "decided_by", "decided_at", "via",
        "remember", "edited",
    )  # fmt: skip

    @display(
        description=_("decision"),
        ordering="decision",
        label={"allow": "success", "deny": "danger", "pending": "warning"},
    )
    def decision_word(self, approval: Any) -> tuple[str, str]:
        if approval.decision is None:
            return "pending", gettext("Waits")
        return approval.decision, str(ApprovalDecision(approval.decision).label)

    @display(description=_("session"))
    def session_link(self, approval: Any) -> str:
        return row_link("memory_session", approval.session_id)

    @display(description=_("run"))
    def run_link(self, approval: Any) -> str:
        return row_link("agents_run", approval.run_id)

    @display(description=_("tool call"))
    def call_link(self, approval: Any) -> str:
        return row_link("tools_toolcall", approval.tool_call_id)
