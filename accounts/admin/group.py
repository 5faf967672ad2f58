"""Groups, each with the level that its members have."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.models import Group
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import display

from accounts.admin.base import PortalAdmin, is_superuser
from accounts.admin.words import LEVEL_COLOURS
from accounts.choices import Level
from accounts.models import GroupLevel

# Imported, so that Django's page is there to be replaced, whatever the order of the apps.
assert auth_admin
admin.site.unregister(Group)


class GroupLevelInline(TabularInline):
    model = GroupLevel
    extra = 1
    max_num = 1
    verbose_name = verbose_name_plural = _("level of the members")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    has_change_permission = has_delete_permission = has_add_permission


@admin.register(Group)
class GroupAdmin(PortalAdmin):
    list_display = ("name", "level_word", "members")
    list_filter = ("level__level",)
    search_fields = ("name",)
    ordering = ("name",)
    list_select_related = ("level",)
    fields = ("name", "member_list")
    readonly_fields = ("member_list",)
    inlines = (GroupLevelInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).annotate(member_count=Count("user"))

    @display(description=_("level"), ordering="level__level", label=LEVEL_COLOURS)
    def level_word(self, group: Any) -> Any:
        level = getattr(group, "level", None)
        return (level.level, Level(level.level).label) if level else "–"

    @display(description=_("members"), ordering="member_count")
    def members(self, group: Any) -> int:
        return int(group.member_count)

    @display(description=_("members"))
    def member_list(self, group: Any) -> SafeString | str:
        if group.pk is None:
            return "–"
        url = f"{reverse('admin:accounts_user_changelist')}?groups__id__exact={group.pk}"
        return format_html(
            '<a class="portal-link" href="{}">{}</a>', url, getattr(group, "member_count", "")
        )
