"""The audit trail: read, searched, exported and checked."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

import orjson
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action, display

from accounts.admin.base import ReadOnlyAdmin
from accounts.models import AuditEntry
from accounts.services import audit_verify
from hermes_site.lib import clock

COLUMNS = ("id", "at", "actor", "action", "target", "via", "data", "previous", "hash")
# A spreadsheet would run these as formulas (CWE-1236).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class ActionFilter(admin.SimpleListFilter):
    """By the kind of act: the word before the dot."""

    title = _("action")
    parameter_name = "kind"
    KINDS = (
        "user", "group", "invitation", "token", "limit", "matrix", "rule", "tool", "approval",
        "run", "session", "login",
    )  # fmt: skip

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind) for kind in self.KINDS]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(action__startswith=f"{self.value()}.") if self.value() else queryset


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("at", "actor", "action", "target", "via", "details")
    list_filter = (ActionFilter, "via", "at")
    search_fields = ("actor", "action", "target")
    date_hierarchy = "at"
    fields = COLUMNS
    actions_list = ("export", "verify")

    @display(description=_("details"))
    def details(self, entry: Any) -> str:
        text = orjson.dumps(entry.data).decode() if entry.data else ""
        return text if len(text) <= 120 else f"{text[:119]}…"

    @action(
        description=_("Export as CSV"), permissions=["view"], url_path="export", icon="download"
    )
    def export(self, request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
        """The entries that the list shows with its search and filters, all pages."""
        rows = self.get_changelist_instance(request).get_queryset(request)
        response = StreamingHttpResponse(csv_lines(rows), content_type="text/csv; charset=utf-8")
        name = f"audit-{clock.now():%Y%m%d-%H%M%S}.csv"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    @action(description=_("Verify chain"), permissions=["view"], url_path="verify", icon="link")
    def verify(self, request: HttpRequest) -> HttpResponse:
        broken = audit_verify()
        if broken is None:
            last = AuditEntry.objects.order_by("-id").first()
            words = gettext("The chain holds: %(n)d entries. Last hash: %(hash)s.") % {
                "n": AuditEntry.objects.count(),
                "hash": last.hash if last else "–",
            }
            self.message_user(request, words, messages.SUCCESS)
        else:
            words = gettext("The chain breaks at entry %(id)d: it, or one before, was changed.")
            self.message_user(request, words % {"id": broken}, messages.ERROR)
        return self.back_to_list(request)


class _Echo:
    """A file whose ``write`` gives back what it got, for the CSV writer to stream."""

    def write(self, text: str) -> str:
        return text


def csv_lines(rows: Any) -> Iterator[str]:
    """A header and one line per entry."""
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
    for entry in rows.iterator(chunk_size=1000):
        values: dict[str, Any] = {name: getattr(entry, name) for name in COLUMNS}
        values["at"] = clock.iso(entry.at)
        values["data"] = orjson.dumps(entry.data).decode()
        yield writer.writerow([_harmless(str(value)) for value in values.values()])


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
