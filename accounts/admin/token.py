"""Personal API tokens: seen, and revoked, never made here."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin.base import VIA, ReadOnlyAdmin, is_superuser
from accounts.models import ApiToken
from accounts.services import token_revoke
from hermes_site.lib import clock
from hermes_site.lib.errors import NotFound


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    list_display = (
        "name", "user", "state", "scope_words", "created_at", "last_used_at", "expires_at",
    )  # fmt: skip
    list_filter = ("created_at", "last_used_at", "revoked_at")
    search_fields = ("user__email", "name")
    list_select_related = ("user",)
    link_lookups = ("user",)
    fields = (
        "name", "user", "hint", "scope_words", "created_at", "last_used_at", "expires_at",
        "revoked_at",
    )  # fmt: skip
    actions = ("revoke",)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return is_superuser(request)

    @admin.action(description=_("Revoke"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        done = missed = 0
        with transaction.atomic():
            for token in queryset.filter(revoked_at=None).select_related("user"):
                try:
                    token_revoke(token.user, token.pk, actor=request.user, via=VIA)
                    done += 1
                except NotFound:
                    missed += 1
        words = ngettext("%(n)d token revoked.", "%(n)d tokens revoked.", done) % {"n": done}
        self.message_user(request, words, messages.SUCCESS)
        if missed:
            words = gettext("Tokens of disabled users do not work, and stay as they are.")
            self.message_user(request, words, messages.WARNING)

    @display(description=_("may"))
    def scope_words(self, token: Any) -> str:
        return ", ".join(map(str, token.scopes))

    @display(
        description=_("state"),
        label={"active": "success", "revoked": "danger", "expired": "default", "off": "default"},
    )
    def state(self, token: Any) -> tuple[str, str]:
        if token.revoked_at:
            return "revoked", gettext("Revoked")
        if token.expires_at and token.expires_at <= clock.now():
            return "expired", gettext("Expired")
        if not token.user.is_active:
            return "off", gettext("User disabled")
        return "active", gettext("Active")
