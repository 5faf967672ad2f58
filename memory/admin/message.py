"""Messages without their text."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from accounts.admin.base import MetadataAdmin
from accounts.admin.words import STATE_COLOURS, row_link, short
from memory.choices import MessageState
from memory.models import Message


@admin.register(Message)
class MessageAdmin(MetadataAdmin):
    content = ("text", "reasoning", "metadata")
    paginator = InfinitePaginator
    show_full_result_count = False
    list_display = (
        "name", "user", "session_link", "role", "state_word", "length", "model", "platform",
        "tokens", "created_at",
    )  # fmt: skip
    list_filter = ("role", "state", "platform", "created_at")
    search_fields = ("user__email",)
    id_fields = ("pk", "session_id", "run_id")
    link_lookups = ("user", "session", "run_id")
    fields = (
        "id", "user", "session_link", "run_link", "position", "active", "role", "state",
        "length", "model", "platform", "tokens", "created_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).annotate(text_length=Length("text"))

    @display(description=_("message"), ordering="id")
    def name(self, message: Any) -> str:
        return short(message.pk)

    @display(description=_("state"), ordering="state", label=STATE_COLOURS)
    def state_word(self, message: Any) -> tuple[str, str]:
        return message.state, str(MessageState(message.state).label)

    @display(description=_("characters"))
    def length(self, message: Any) -> int:
        return int(message.text_length or 0)

    @display(description=_("session"))
    def session_link(self, message: Any) -> str:
        return row_link("memory_session", message.session_id)

    @display(description=_("run"))
    def run_link(self, message: Any) -> str:
        return row_link("agents_run", message.run_id)
