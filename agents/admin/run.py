"""Runs: state, model, steps and tokens."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from accounts.admin.base import MetadataAdmin
from accounts.admin.words import STATE_COLOURS, row_link, short
from agents.choices import RunState
from agents.models import Run


@admin.register(Run)
class RunAdmin(MetadataAdmin):
    content = ("options", "error_message")
    paginator = InfinitePaginator
    show_full_result_count = False
    list_display = (
        "name", "user", "state_word", "engine", "model", "surface", "step", "tokens", "created_at",
        "took", "error_code",
    )  # fmt: skip
    list_filter = ("state", "engine", "surface", "error_code", "created_at")
    search_fields = ("user__email", "model")
    id_fields = ("pk", "session_id", "message_id")
    link_lookups = ("user", "session")
    fields = (
        "id", "user", "session_link", "message_link", "state", "engine", "model", "mode",
        "surface", "step", "attempts", "input_tokens", "output_tokens", "error_code",
        "lease_owner", "lease_until", "created_at", "started_at", "finished_at",
    )  # fmt: skip

    @display(description=_("run"), ordering="id")
    def name(self, run: Any) -> str:
        return short(run.pk)

    @display(description=_("state"), ordering="state", label=STATE_COLOURS)
    def state_word(self, run: Any) -> tuple[str, str]:
        return run.state, str(RunState(run.state).label)

    @display(description=_("tokens in / out"))
    def tokens(self, run: Any) -> str:
        return f"{run.input_tokens:,} / {run.output_tokens:,}"

    @display(description=_("took"))
    def took(self, run: Any) -> str:
        if not (run.started_at and run.finished_at):
            return "–"
        return f"{(run.finished_at - run.started_at).total_seconds():.1f} s"

    @display(description=_("session"))
    def session_link(self, run: Any) -> str:
        return row_link("memory_session", run.session_id)

    @display(description=_("message"))
    def message_link(self, run: Any) -> str:
        return row_link("memory_message", run.message_id)
