"""People: their level, groups and whether they may come in."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import action, display
from unfold.forms import AdminPasswordChangeForm

from accounts.admin.base import PortalAdmin
from accounts.admin.changes import form_changes
from accounts.admin.user_forms import UserAddForm, UserForm
from accounts.admin.words import LEVEL_COLOURS
from accounts.choices import LEVEL_ORDER, Level, LimitAction
from accounts.models import User
from accounts.selectors.level import level_of
from accounts.selectors.limit import Window, limits_left
from accounts.services import user_create, user_set_active, user_set_level


@admin.register(User)
class UserAdmin(DjangoUserAdmin, PortalAdmin):
    """Level and active go through their services, which audit them and make them bite at once.
    People are disabled, not deleted: what they wrote and did stays explainable."""

    form = UserForm
    add_form = UserAddForm
    change_password_form = AdminPasswordChangeForm
    list_display = (
        "email", "name", "effective_level", "group_names", "is_active", "is_staff", "last_login",
        "date_joined",
    )  # fmt: skip
    list_filter = ("level", "is_active", "is_staff", "is_superuser", "groups")
    search_fields = ("email", "name")
    ordering = ("email",)
    filter_horizontal = ()
    autocomplete_fields = ("groups",)
    readonly_fields = ("email", "holds_now", "what_is_left", "last_login", "date_joined")
    actions = ("disable", "enable")
    actions_detail = ("set_password", "explain")
    fieldsets = (
        (None, {"fields": ("email", "name", "language", "timezone")}),
        (_("Access"), {"fields": ("level", "holds_now", "groups", "is_active")}),
        (_("Administration"), {"fields": ("is_staff", "is_superuser")}),
        (_("Limits"), {"fields": ("what_is_left",)}),
        (_("Dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (
            None,
            {"fields": ("email", "name", "password", "level", "groups", "is_superuser")},
        ),
    )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).prefetch_related("groups__level")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return self.readonly_fields if obj else ()

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.editor = request.user
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            self._change(request, obj, form)
        else:
            self._create(request, obj, form)

    def _create(self, request: HttpRequest, obj: Any, form: Any) -> None:
        data = form.cleaned_data
        user = user_create(
            email=data["email"],
            password=data["password"] or None,
            level=data["level"],
            name=data["name"],
            admin=data["is_superuser"],
            actor=request.user,
        )
        vars(obj).update(vars(user))
        if data["groups"]:
            self.audit(request, obj, "groups", {"to": sorted(str(g) for g in data["groups"])})

    def _change(self, request: HttpRequest, obj: Any, form: Any) -> None:
        """The services see the row as it was; what is left is saved and audited as one entry."""
        changed = set(form.changed_data)
        before = User.objects.get(pk=obj.pk)
        with transaction.atomic():
            if "level" in changed:
                user_set_level(before, obj.level, actor=request.user)
            if "is_active" in changed:
                user_set_active(before, obj.is_active, actor=request.user)
            rest = {
                name: value
                for name, value in form_changes(form).items()
                if name not in ("level", "is_active")
            }
            columns = [name for name in rest if name != "groups"]
            if columns:
                obj.save(update_fields=columns)
            if rest:
                self.audit(request, obj, "changed", rest)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:
        with transaction.atomic():
            response = super().user_change_password(request, id, form_url)
            if request.method == "POST" and response.status_code == 302:
                self.audit(request, self.get_object(request, id), "password", {})
        return response

    @admin.action(description=_("Disable: end everything they have open"), permissions=["change"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        others = queryset.exclude(pk=request.user.pk)
        self._set_active(request, others, False)

    @admin.action(description=_("Enable"), permissions=["change"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._set_active(request, queryset, True)

    def _set_active(self, request: HttpRequest, users: QuerySet[Any], active: bool) -> None:
        changed = list(users.filter(is_active=not active))
        with transaction.atomic():
            for user in changed:
                user_set_active(user, active, actor=request.user)
        count = len(changed)
        words = ngettext("%(n)d user changed.", "%(n)d users changed.", count) % {"n": count}
        self.message_user(request, words, messages.SUCCESS)

    @action(description=_("Set password"), permissions=["change"], url_path="to-password")
    def set_password(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:auth_user_password_change", args=[object_id]))

    @action(description=_("Why (not) this tool?"), permissions=["change"], url_path="to-explain")
    def explain(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return HttpResponseRedirect(f"{reverse('admin:tools_explain')}?user={object_id}")

    @display(description=_("level"), ordering="level", label=LEVEL_COLOURS)
    def effective_level(self, user: Any) -> tuple[str, str]:
        """The user's own level, or the highest of the groups', as already loaded."""
        if user.level:
            found = level_of(user)
            return found.level, f"{Level(found.level).label} ({_('own')})"
        known = [
            LEVEL_ORDER.index(group.level.level)
            for group in user.groups.all()
            if hasattr(group, "level") and group.level.level in LEVEL_ORDER
        ]
        level = LEVEL_ORDER[max(known)] if known else Level.SAFE.value
        source = _("group") if known else _("default")
        return level, f"{Level(level).label} ({source})"

    @display(description=_("level that holds"))
    def holds_now(self, user: Any) -> str:
        return self.effective_level(user)[1]

    @display(description=_("groups"))
    def group_names(self, user: Any) -> str:
        return ", ".join(sorted(group.name for group in user.groups.all())) or "–"

    @display(description=_("what is left"))
    def what_is_left(self, user: Any) -> SafeString:
        limits = [
            {
                **left,
                "what": LimitAction(left["action"]).label,
                "per": Window(Decimal(0), left["seconds"]).words,
            }
            for left in limits_left(user)
        ]
        return render_to_string("admin/portal/limits_left.html", {"limits": limits})
