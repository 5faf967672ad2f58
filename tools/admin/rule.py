"""Tool rules, and the page that explains a decision."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.validators import RegexValidator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action, display

from accounts.admin.base import PolicyAdmin
from accounts.admin.words import OUTCOME_COLOURS
from tools.admin.explain import explain_view
from tools.choices import Outcome
from tools.models import ToolRule
from tools.selectors.policy import POLICY_TABLES


class RuleForm(forms.ModelForm):
    """A rule as ``tools.services.rule`` would take it."""

    tool = forms.CharField(
        label=_("Tool"),
        max_length=128,
        help_text=_("A name, or a pattern with *."),
        validators=[RegexValidator(r"^[a-zA-Z0-9_*-]+\Z", _("Use letters, digits, _, - and *."))],
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if bool(data.get("argument")) != bool(data.get("pattern")):
            words = _("A condition has both: an argument's name, and what it must match.")
            self.add_error("pattern", words)
        same = ToolRule.objects.filter(
            **{
                name: data.get(name)
                for name in ("scope", "group", "user", "tool", "argument", "pattern")
            }
        ).exclude(pk=self.instance.pk)
        if not self.errors and same.exists():
            raise forms.ValidationError(_("There is already a rule with this condition."))
        return data


@admin.register(ToolRule)
class ToolRuleAdmin(PolicyAdmin):
    form = RuleForm
    audit_name = "rule"
    list_display = ("tool", "subject_word", "outcome_word", "condition", "note", "created_at")
    list_filter = ("scope", "outcome", "group")
    search_fields = ("tool", "note", "user__email", "group__name")
    list_select_related = ("group", "user")
    ordering = ("tool", "scope")
    autocomplete_fields = ("user",)
    fields = ("scope", "group", "user", "tool", "argument", "pattern", "outcome", "note")
    actions_list = ("explain",)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(lambda request: explain_view(self, request))
        return [path("why/", view, name="tools_explain"), *super().get_urls()]

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        from unfold.widgets import UnfoldAdminTextInputWidget

        form = super().get_form(request, obj, **kwargs)
        if "tool" in form.base_fields:
            form.base_fields["tool"].widget = UnfoldAdminTextInputWidget()
        return form

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new rule asks, unless something else is chosen: the list of outcomes starts with the
        one that opens."""
        return {"outcome": Outcome.CONFIRM, **super().get_changeform_initial_data(request)}

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        transaction.on_commit(POLICY_TABLES.clear)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        super().delete_model(request, obj)
        transaction.on_commit(POLICY_TABLES.clear)

    @action(description=_("Why (not)?"), permissions=["view"], url_path="to-why", icon="help")
    def explain(self, request: HttpRequest) -> HttpResponse:
        return redirect("admin:tools_explain")

    @display(description=_("for"), ordering="scope")
    def subject_word(self, rule: Any) -> str:
        return str(rule.user or rule.group or rule.get_scope_display())

    @display(description=_("outcome"), ordering="outcome", label=OUTCOME_COLOURS)
    def outcome_word(self, rule: Any) -> tuple[str, str]:
        return rule.outcome, str(Outcome(rule.outcome).label)

    @display(description=_("only when"))
    def condition(self, rule: Any) -> str:
        return f"{rule.argument} ~ {rule.pattern}" if rule.argument else "–"
