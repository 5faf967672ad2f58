"""Why may this person (not) use this tool: the decision for one call, step by step."""

from __future__ import annotations

from typing import Any

import orjson
from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminEmailInputWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
)

from accounts.models import User
from hermes_site.lib.errors import ModelRecoverable
from hermes_site.lib.ids import parse_id
from memory.choices import Mode
from tools.arguments import validate
from tools.choices import Category, Outcome
from tools.registry import TOOLS
from tools.selectors.policy import decide

DOORS = ("web", "api", "telegram", "discord", "slack", "whatsapp", "signal", "schedule", "webhook")


class ExplainForm(forms.Form):
    user = forms.EmailField(label=_("User"), widget=UnfoldAdminEmailInputWidget())
    tool = forms.ChoiceField(label=_("Tool"), widget=UnfoldAdminSelectWidget())
    arguments = forms.CharField(
        label=_("Arguments"),
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=_('JSON, for example {"command": "git push"}. Empty: the tool as such.'),
    )
    door = forms.ChoiceField(
        label=_("Door"),
        choices=[(door, door) for door in DOORS],
        widget=UnfoldAdminSelectWidget(),
    )
    mode = forms.ChoiceField(
        label=_("Mode"), choices=Mode.choices, initial=Mode.CODE, widget=UnfoldAdminSelectWidget()
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = sorted(TOOLS.all())
        field = self.fields["tool"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in names]

    def clean_user(self) -> User:
        email = str(self.cleaned_data["user"]).lower()
        user = User.objects.filter(email=email).first()
        if user is None:
            raise forms.ValidationError(_("There is no user with this address."))
        return user

    def clean_arguments(self) -> Any:
        text = str(self.cleaned_data["arguments"]).strip()
        try:
            return orjson.loads(text) if text else None
        except orjson.JSONDecodeError as error:
            words = gettext("This is not JSON: %(error)s") % {"error": error}
            raise forms.ValidationError(words) from error


def explain_view(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """The form, and below it the decision. A POST, because arguments do not belong in addresses
    and logs; it changes nothing."""
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    form = ExplainForm(request.POST or None, initial={"user": _address(request.GET.get("user"))})
    context = {
        **model_admin.admin_site.each_context(request),
        "title": _("Why can this user (not) use this tool?"),
        "form": form,
        "found": _explained(form.cleaned_data) if form.is_bound and form.is_valid() else None,
    }
    return TemplateResponse(request, "admin/portal/explain.html", context)


def _explained(asked: dict[str, Any]) -> dict[str, Any]:
    """``{"outcome", "word", "category", "trace": [(step, word, why)]}``."""
    user, tool = asked["user"], TOOLS.all()[asked["tool"]]
    if not user.is_active:
        words = gettext("%(user)s is disabled.") % {"user": user}
        return _refused(tool.category, "user", words)
    try:
        arguments = {} if asked["arguments"] is None else validate(tool, asked["arguments"])
    except ModelRecoverable as error:
        return _refused(tool.category, "arguments", error.message)
    decision, facts = decide(user, tool, arguments, surface=asked["door"], mode=asked["mode"])
    return {
        "outcome": decision.outcome,
        "word": Outcome(decision.outcome).label,
        "category": Category(facts.category).label,
        "trace": in_words(decision.trace),
    }


def in_words(trace: Any) -> list[tuple[str, str, str, str]]:
    """A trace as ``(step, outcome, word, why)``; an unknown outcome reads as a refusal."""
    known = [
        (step, Outcome(outcome) if outcome in Outcome.values else Outcome.DENY, why)
        for step, outcome, why in trace
    ]
    return [(step, outcome.value, str(outcome.label), why) for step, outcome, why in known]


def _refused(category: str, step: str, why: str) -> dict[str, Any]:
    word = Outcome.DENY.label
    return {
        "outcome": Outcome.DENY.value,
        "word": word,
        "category": Category(category).label,
        "trace": [(step, Outcome.DENY.value, word, why)],
    }


def _address(id: str | None) -> str:
    wanted = parse_id(id) if id else None
    user = User.objects.filter(pk=wanted).first() if wanted else None
    return user.email if user else ""
