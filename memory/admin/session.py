"""Sessions without their titles and summaries, which are drawn from what people wrote."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin.base import MetadataAdmin
from accounts.admin.words import short
from memory.models import Session


@admin.register(Session)
class SessionAdmin(MetadataAdmin):
    content = ("title", "summary", "tags", "metadata")
    list_display = (
        "name", "user", "platform", "engine", "model", "mode", "message_count", "started_at",
        "last_active_at",
    )  # fmt: skip
    list_filter = ("platform", "mode", "engine", "started_at", "archived_at")
    search_fields = ("user__email",)
    ordering = ("-last_active_at", "-id")
    link_lookups = ("user",)
    fields = (
        "id", "user", "platform", "engine", "model", "mode", "message_count", "started_at",
        "last_active_at", "archived_at", "pinned", "inside",
    )  # fmt: skip

    @display(description=_("session"), ordering="id")
    def name(self, session: Any) -> str:
        return short(session.pk)

    @display(description=_("inside"))
    def inside(self, session: Any) -> SafeString:
        """Links to the session's rows in the other lists."""
        pages = (
            (_("messages"), "memory_message"),
            (_("runs"), "agents_run"),
            (_("tool calls"), "tools_toolcall"),
            (_("approvals"), "tools_approval"),
        )
        links = [
            format_html(
                '<a class="portal-link" href="{}?session__id__exact={}">{}</a>',
                reverse(f"admin:{view}_changelist"),
                session.pk,
                words,
            )
            for words, view in pages
        ]
        return format_html("{} · {} · {} · {}", *links)
