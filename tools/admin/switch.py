"""All tools of this portal, each with its switch."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import VIA, PolicyAdmin
from hermes_site.lib.errors import UserFacing
from tools.choices import Category
from tools.models import ToolSwitch
from tools.registry import TOOLS
from tools.services.switch import switch_set


@admin.register(ToolSwitch)
class ToolSwitchAdmin(PolicyAdmin):
    """The list is the registry, not the rows: a tool has a row only once it was switched."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="tools_toolswitch_changelist")]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            return self._switch(request)
        asked, category = request.GET.get("q", "").strip(), request.GET.get("category", "")
        context = {
            **self.admin_site.each_context(request),
            "title": _("Tools"),
            "opts": self.opts,
            "tools": tool_list(asked, category),
            "broken": sorted(TOOLS.broken.items()),
            "asked": asked,
            "category": category,
            "categories": Category.choices,
        }
        return TemplateResponse(request, "admin/portal/switches.html", context)

    def _switch(self, request: HttpRequest) -> HttpResponse:
        tool, enabled = request.POST.get("tool", ""), request.POST.get("enabled") == "on"
        try:
            switch_set(
                tool=tool,
                enabled=enabled,
                note=request.POST.get("note", ""),
                actor=request.user,
                via=VIA,
            )
        except UserFacing as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            words = gettext("%(tool)s is on.") if enabled else gettext("%(tool)s is off.")
            self.message_user(request, words % {"tool": tool}, messages.SUCCESS)
        return HttpResponseRedirect(request.get_full_path())


def tool_list(asked: str, category: str) -> list[dict[str, Any]]:
    """Every tool, and every switch of a tool that is not there now; with one query."""
    switches = {switch.tool: switch for switch in ToolSwitch.objects.all()}
    found = []
    for name in sorted({*TOOLS.all(), *switches}):
        tool, switch = TOOLS.get(name), switches.get(name)
        about = tool.description if tool else gettext("Not installed now.")
        if asked.lower() not in f"{name} {about}".lower():
            continue
        if category and (tool is None or tool.category != category):
            continue
        found.append(
            {
                "name": name,
                "about": about.split("\n")[0],
                "category": Category(tool.category).label if tool else "–",
                "judged": bool(tool and tool.classify),
                "enabled": switch is None or switch.enabled,
                "note": switch.note if switch else "",
            }
        )
    return found
