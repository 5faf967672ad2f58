"""The forms that make and change a user."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminSelectWidget

from accounts.models import User

_ZONES = sorted(available_timezones())
HELP = {
    "groups": "",
    "is_staff": _("Sees these pages."),
    "is_superuser": _("Changes people and the policy."),
}


class UserAddForm(forms.ModelForm):
    """Without a password the person comes in by a reset link or single sign-on."""

    password = forms.CharField(
        label=_("Password"),
        required=False,
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=_("Empty: the person comes in by a reset link or single sign-on."),
    )

    class Meta:
        model = User
        fields = ("email", "name", "level", "is_superuser", "groups")
        help_texts = HELP

    def clean_email(self) -> str:
        email = str(self.cleaned_data["email"]).strip().lower()
        if User.objects.filter(email=email).exists():
            raise ValidationError(_("There is already a user with this address."))
        return email

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        password = data.get("password")
        if password:
            try:
                validate_password(password, User(email=data.get("email", ""), name=data["name"]))
            except ValidationError as error:
                self.add_error("password", error)
        return data


class UserForm(forms.ModelForm):
    """The address is fixed: people change theirs themselves, where it is verified."""

    # Set by the page: who is changing.
    editor: Any = None

    class Meta:
        model = User
        fields = (
            "name", "language", "timezone", "level", "groups", "is_active", "is_staff",
            "is_superuser",
        )  # fmt: skip
        help_texts = HELP
        widgets = {
            "language": UnfoldAdminSelectWidget(choices=[("", _("The browser's"))]),
            "timezone": UnfoldAdminSelectWidget(choices=[(zone, zone) for zone in _ZONES]),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "language" in self.fields:
            widget = self.fields["language"].widget
            widget.choices = [("", _("The browser's")), *settings.LANGUAGES]

    def clean_timezone(self) -> str:
        zone = str(self.cleaned_data["timezone"])
        if zone not in _ZONES:
            raise ValidationError(_("There is no such time zone."))
        return zone

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("is_superuser") and not data.get("is_staff"):
            self.add_error("is_staff", _("A superuser is an administrator too."))
        if self.editor is not None and self.instance.pk == self.editor.pk:
            for name in ("is_active", "is_staff", "is_superuser"):
                if getattr(self.editor, name) and not data.get(name):
                    self.add_error(name, _("You cannot take this from yourself."))
        return data
