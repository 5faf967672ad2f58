"""allauth's rules here: who may sign up, and what an invitation gives."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from accounts.services.invitation import invitation_accept, invitation_find
from hermes_site.lib.errors import Conflict

# Where the invitation's code waits in the browser session between link and form.
CODE = "invitation_code"


class AccountAdapter(DefaultAccountAdapter):
    """Sign-up is closed, by invitation, or open (``HERMES_SIGNUP``)."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        if settings.HERMES_SIGNUP == "open":
            return True
        if settings.HERMES_SIGNUP == "closed":
            return False
        return invitation_find(request.session.get(CODE, "")) is not None

    def clean_email(self, email: str) -> str:
        email = super().clean_email(email).lower()
        code = self.request.session.get(CODE, "") if self.request else ""
        invitation = invitation_find(code) if code else None
        if settings.HERMES_SIGNUP == "invite" and invitation and invitation.email != email:
            raise self.validation_error("invalid_login")
        return email

    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> Any:
        try:
            with transaction.atomic():
                user = super().save_user(request, user, form, commit)
        except IntegrityError as error:
            raise Conflict("There is an account with this address by now. Log in.") from error
        _invitation_use(request, user)
        return user


class SocialAccountAdapter(DefaultSocialAccountAdapter):
    """A provider's login makes an account only where sign-up is open or the address invited."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        if not AccountAdapter(request).is_open_for_signup(request):
            return False
        email = sociallogin.user.email.lower()
        if settings.HERMES_SIGNUP != "invite" or not email:
            return True  # without an address a form asks for it, and checks it
        invitation = invitation_find(request.session.get(CODE, ""))
        return invitation is not None and invitation.email == email

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        sociallogin.user.email = sociallogin.user.email.lower()
        user = super().save_user(request, sociallogin, form)
        _invitation_use(request, user)
        return user


def _invitation_use(request: HttpRequest, user: Any) -> None:
    """Consume the invitation with whose link this browser came."""
    if code := request.session.pop(CODE, ""):
        invitation_accept(code, user)
