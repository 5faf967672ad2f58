"""Rates and budgets, with what is left of those that are one user's."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from redis.exceptions import RedisError
from unfold.decorators import display

from accounts.admin.base import PolicyAdmin
from accounts.models import LimitRule
from accounts.selectors.limit import LIMIT_RULES, Window, keys
from hermes_site.lib.redis import client


class LimitForm(forms.ModelForm):
    """A limit that could never be reached, because a longer window allows less, is refused."""

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        needed = ("scope", "action", "amount", "seconds")
        if any(data.get(name) is None for name in needed):
            return data
        tighter = LimitRule.objects.filter(
            **{name: data.get(name) for name in ("scope", "group", "user", "action")},
            seconds__gt=data["seconds"],
            amount__lt=data["amount"],
        ).exclude(pk=self.instance.pk)
        if found := tighter.first():
            words = _("%(rule)s allows less in a longer time: this amount could not be reached.")
            self.add_error("amount", words % {"rule": found})
        return data


@admin.register(LimitRule)
class LimitRuleAdmin(PolicyAdmin):
    form = LimitForm
    audit_name = "limit"
    list_display = ("action", "subject_word", "amount_word", "window", "left")
    list_display_links = ("action", "subject_word")
    list_filter = ("scope", "action")
    search_fields = ("user__email", "group__name")
    list_select_related = ("group", "user")
    ordering = ("action", "scope", "seconds")
    autocomplete_fields = ("user",)
    fields = ("scope", "group", "user", "action", "amount", "seconds", "left")
    readonly_fields = ("left",)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        transaction.on_commit(LIMIT_RULES.clear)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        super().delete_model(request, obj)
        transaction.on_commit(LIMIT_RULES.clear)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The list with all counters of its users read in one call."""
        changelist = super().get_changelist_instance(request)
        _counters_read(list(changelist.result_list))
        return changelist

    @display(description=_("for"), ordering="scope")
    def subject_word(self, rule: Any) -> str:
        return str(rule.user or rule.group or rule.get_scope_display())

    @display(description=_("amount"), ordering="amount")
    def amount_word(self, rule: Any) -> str:
        return f"{rule.amount.normalize():f}"

    @display(description=_("per"), ordering="seconds")
    def window(self, rule: Any) -> str:
        return gettext(Window(rule.amount, rule.seconds).words)

    @display(description=_("left now"))
    def left(self, rule: Any) -> str:
        """What the user of the row may still use; other rows have no counter of their own."""
        if rule.user_id is None:
            return "–"
        if not hasattr(rule, "used"):
            _counters_read([rule])
        return "?" if rule.used is None else f"{max(0.0, float(rule.amount) - rule.used):g}"


def _counters_read(rules: list[Any]) -> None:
    """Set ``used`` on the rows that are one user's; None when Redis is away."""
    own = [rule for rule in rules if rule.user_id is not None]
    if not own:
        return
    names = [keys(rule.user, rule.action, [Window(rule.amount, rule.seconds)])[0] for rule in own]
    try:
        values: list[Any] = client().mget(names)
        for rule, value in zip(own, values, strict=True):
            rule.used = float(value or 0)
    except RedisError:
        for rule in own:
            rule.used = None
