"""Invitations: the link is shown once, and mailed where mail is configured."""

from __future__ import annotations

import logging
import smtplib
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.core.mail import EmailMessage, get_connection
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin.base import PortalAdmin
from accounts.admin.words import LEVEL_COLOURS
from accounts.choices import Level
from accounts.models import Invitation
from accounts.services import invitation_create
from hermes_site.lib import clock

log = logging.getLogger(__name__)
# Seconds that a mail server may keep the page waiting.
_MAIL_TIMEOUT = 10


@admin.register(Invitation)
class InvitationAdmin(PortalAdmin):
    list_display = ("email", "state", "level_word", "invited_by", "created_at", "expires_at")
    list_filter = ("level", "created_at", "accepted_at")
    search_fields = ("email",)
    list_select_related = ("invited_by",)
    autocomplete_fields = ("groups",)
    fields = ("email", "level", "groups")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        data = form.cleaned_data
        invitation, code = invitation_create(
            email=data["email"],
            level=data["level"],
            groups=list(data["groups"]),
            actor=request.user,
        )
        vars(obj).update(vars(invitation))
        # Only for the answer to this request: the code is kept nowhere.
        request.invitation_link = invitation_link(code)  # type: ignore[attr-defined]

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """The service has set the groups already."""

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Invitation"),
            "opts": self.opts,
            "invitation": obj,
            "link": request.invitation_link,  # type: ignore[attr-defined]
            "signup": settings.HERMES_SIGNUP,
        }
        return TemplateResponse(request, "admin/portal/invitation.html", context)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The mail goes out here, after the commit and before the answer is rendered: no link
        arrives for an invitation that was rolled back, and the page says how it went."""
        response = super().add_view(request, form_url, extra_context)
        link = getattr(request, "invitation_link", "")
        if link and isinstance(response, TemplateResponse) and response.context_data is not None:
            response.context_data["mail"] = _mailed(response.context_data["invitation"].email, link)
        return response

    @display(
        description=_("state"),
        label={"open": "info", "accepted": "success", "expired": "default"},
    )
    def state(self, invitation: Any) -> tuple[str, str]:
        if invitation.accepted_at:
            return "accepted", gettext("Accepted")
        if invitation.expires_at <= clock.now():
            return "expired", gettext("Expired")
        return "open", gettext("Open")

    @display(description=_("level"), ordering="level", label=LEVEL_COLOURS)
    def level_word(self, invitation: Any) -> Any:
        level = invitation.level
        return (level, Level(level).label) if level else _("of the groups")


def invitation_link(code: str) -> str:
    """The address that an invited person opens to sign up."""
    return f"{settings.HERMES_PUBLIC_URL}{reverse('invite', args=[code])}"


def _mailed(to: str, link: str) -> str:
    """``off`` when mail goes nowhere but to the terminal, else ``sent`` or ``failed``."""
    if str(settings.EMAIL_BACKEND).endswith("console.EmailBackend"):
        return "off"
    try:
        invitation_mail(to, link)
    except (OSError, smtplib.SMTPException) as error:
        log.warning("invitation_not_mailed error=%s", error)
        return "failed"
    return "sent"


def invitation_mail(to: str, link: str) -> None:
    """Send the link. Raises ``OSError`` and ``SMTPException``."""
    subject = gettext("You are invited to the Hermes Portal")
    body = gettext(
        "You have been invited to the Hermes Portal. Sign up here, with this e-mail address:\n\n"
        "%(link)s\n\nThe link works once, and for seven days.\n"
    )
    EmailMessage(
        subject, body % {"link": link}, to=[to], connection=get_connection(timeout=_MAIL_TIMEOUT)
    ).send()
