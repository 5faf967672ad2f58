"""What all pages of the administration share: who may, strict filters, an audit entry per act.

Whoever is an administrator (``is_staff``) sees the lists; only a superuser changes anything or
sees the policy. Rows of other people are shown without their content (``MetadataAdmin``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.contrib.admin import SimpleListFilter
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.forms import BaseModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.admin import ModelAdmin

from accounts.admin.changes import form_changes
from accounts.services import audit_record
from hermes_site.lib.errors import UserFacing
from hermes_site.lib.ids import parse_id

VIA = "admin"
# What may stand behind a filter's field in the address; anything else would let a list be
# searched by columns that it does not show.
_SUFFIXES = (
    "", "__exact", "__in", "__isnull", "__id__exact", "__pk__exact",
    "__gte", "__gt", "__lte", "__lt", "__year", "__month", "__day",
)  # fmt: skip


class PortalAdmin(ModelAdmin):
    """Administrators look, superusers change, each change is audited in its own transaction."""

    # The first part of the audit action; the model's name without it.
    audit_name = ""
    # Fields that links from other pages filter by.
    link_lookups: tuple[str, ...] = ()
    # A search for an id looks here.
    id_fields: tuple[str, ...] = ("pk",)
    list_per_page = 50
    show_facets = ModelAdmin.show_facets.NEVER

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and getattr(request.user, "is_staff", False))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return any(
            lookup == f"{name}{suffix}"
            for name in self._filter_names(request)
            for suffix in _SUFFIXES
        )

    def _filter_names(self, request: HttpRequest) -> Iterator[str]:
        yield from self.link_lookups
        if self.date_hierarchy:
            yield self.date_hierarchy
        for item in self.get_list_filter(request):
            if isinstance(item, type) and issubclass(item, SimpleListFilter):
                yield str(item.parameter_name)
            else:
                yield item[0] if isinstance(item, list | tuple) else str(item)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        wanted = parse_id(search_term.strip())
        if wanted is None or "pk" not in self.id_fields:
            return super().get_search_results(request, queryset, search_term)
        anywhere = Q()
        for name in self.id_fields:
            anywhere |= Q(**{name: wanted})
        return queryset.filter(anywhere), False

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except UserFacing as error:
            self.message_user(request, error.message, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        with transaction.atomic():
            super().save_model(request, obj, form, change)
            self.audit(request, obj, "changed" if change else "created", form_changes(form))

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        with transaction.atomic():
            super().save_formset(request, form, formset, change)
            name = formset.model._meta.model_name
            gone = {id(row) for row in formset.deleted_objects}
            for inner in formset.forms:
                if id(inner.instance) in gone:
                    self.audit(request, inner.instance, "deleted", {}, name=name)
                elif inner.has_changed():
                    verb = "changed" if inner in formset.initial_forms else "created"
                    self.audit(request, inner.instance, verb, form_changes(inner), name=name)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete and record, with the number of rows of each kind that went along."""
        target = self.audit_target(obj)
        with transaction.atomic():
            _, rows = obj.delete()
            self.audit(request, target, "deleted", {"rows": rows})

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        with transaction.atomic():
            for obj in queryset:
                self.delete_model(request, obj)

    def audit(
        self, request: HttpRequest, obj: Any, verb: str, data: dict[str, Any], *, name: str = ""
    ) -> None:
        prefix = name or self.audit_name or self.opts.model_name
        target = self.audit_target(obj) if isinstance(obj, Model) else obj
        audit_record(f"{prefix}.{verb}", actor=request.user, target=target, via=VIA, data=data)

    def audit_target(self, obj: Any) -> str:
        """What the entry names the row."""
        return str(obj)

    def back_to_list(self, request: HttpRequest) -> HttpResponseRedirect:
        """To this model's list, with the filters that were set."""
        url = reverse(
            f"{self.admin_site.name}:{self.opts.app_label}_{self.opts.model_name}_changelist"
        )
        kept = {"preserved_filters": self.get_preserved_filters(request), "opts": self.opts}
        return HttpResponseRedirect(add_preserved_filters(kept, url))


class PolicyAdmin(PortalAdmin):
    """Pages that only a superuser may open."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)


class ReadOnlyAdmin(PortalAdmin):
    """Rows that the administration shows and never changes."""

    actions: Any = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class MetadataAdmin(ReadOnlyAdmin):
    """People's rows without their content: ``content`` columns are not even loaded, and are
    empty on the row, so that its name cannot show them."""

    content: tuple[str, ...] = ()
    list_select_related: tuple[str, ...] = ("user",)
    ordering: tuple[str, ...] = ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer(*self.content)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        obj = super().get_object(request, object_id, from_field)
        for name in self.content if obj is not None else ():
            setattr(obj, name, "")
        return obj

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> type[BaseModelForm]:
        # Only what is shown is on the form; the rest of the row is never read.
        return super().get_form(request, obj, **{**kwargs, "fields": []})


def is_superuser(request: HttpRequest) -> bool:
    user = request.user
    return bool(user.is_active and getattr(user, "is_staff", False) and user.is_superuser)
