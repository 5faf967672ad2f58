"""Remembered approvals: seen without the call's content, and withdrawn."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin.base import MetadataAdmin, is_superuser
from accounts.admin.words import row_link
from tools.models import Grant


@admin.register(Grant)
class GrantAdmin(MetadataAdmin):
    audit_name = "grant"
    actions = ("delete_selected",)
    content = ("shown",)
    list_display = ("tool", "user", "holds", "digest_start", "created_at")
    list_filter = ("created_at",)
    search_fields = ("user__email", "tool")
    id_fields = ("pk", "session_id")
    link_lookups = ("user", "session")
    fields = ("id", "tool", "user", "holds", "session_link", "digest", "created_at")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """By tool and person: a grant's own name shows the call."""
        return (
            [self.audit_target(obj) for obj in objs],
            {_("remembered approvals"): len(objs)},
            set(),
            [],
        )

    def audit_target(self, obj: Any) -> str:
        return f"{obj.user}: {obj.tool} {obj.digest[:12]}"

    @display(description=_("holds"))
    def holds(self, grant: Any) -> str:
        return gettext("In one session") if grant.session_id else gettext("Always")

    @display(description=_("call"))
    def digest_start(self, grant: Any) -> str:
        return str(grant.digest[:12])

    @display(description=_("session"))
    def session_link(self, grant: Any) -> str:
        return row_link("memory_session", grant.session_id)
