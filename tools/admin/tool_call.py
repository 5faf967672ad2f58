"""Tool calls: who, door, rule, decision and outcome, without what was read or written."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from accounts.admin.base import MetadataAdmin
from accounts.admin.words import OUTCOME_COLOURS, STATE_COLOURS, row_link
from tools.admin.explain import in_words
from tools.choices import CallState, Outcome
from tools.models import ToolCall


@admin.register(ToolCall)
class ToolCallAdmin(MetadataAdmin):
    content = ("arguments", "result")
    paginator = InfinitePaginator
    show_full_result_count = False
    list_display = (
        "name", "user", "category", "outcome_word", "state_word", "surface", "mode", "created_at",
        "took",
    )  # fmt: skip
    list_filter = ("state", "category", "outcome", "surface", "mode", "created_at")
    search_fields = ("user__email", "name")
    id_fields = ("pk", "run_id", "session_id")
    link_lookups = ("user", "session", "run_id")
    fields = (
        "id", "name", "user", "session_link", "run_link", "category", "outcome", "why",
        "decision", "digest", "surface", "mode", "state", "attempts", "result_size", "created_at",
        "started_at", "finished_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).annotate(result_length=Length("result"))

    @display(description=_("outcome"), ordering="outcome", label=OUTCOME_COLOURS)
    def outcome_word(self, call: Any) -> tuple[str, str]:
        return call.outcome, str(Outcome(call.outcome).label)

    @display(description=_("state"), ordering="state", label=STATE_COLOURS)
    def state_word(self, call: Any) -> tuple[str, str]:
        return call.state, str(CallState(call.state).label)

    @display(description=_("took"))
    def took(self, call: Any) -> str:
        if not (call.started_at and call.finished_at):
            return "–"
        return f"{(call.finished_at - call.started_at).total_seconds():.1f} s"

    @display(description=_("decision"))
    def decision(self, call: Any) -> SafeString:
        return render_to_string("admin/portal/trace.html", {"trace": in_words(call.trace)})

    @display(description=_("result"))
    def result_size(self, call: Any) -> str:
        return _("%(n)d characters") % {"n": call.result_length or 0}

    @display(description=_("session"))
    def session_link(self, call: Any) -> str:
        return row_link("memory_session", call.session_id)

    @display(description=_("run"))
    def run_link(self, call: Any) -> str:
        return row_link("agents_run", call.run_id)
