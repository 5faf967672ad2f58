"""Ways to log in, as allauth keeps them: addresses, linked accounts, second factors.

allauth registers pages that show secrets (tokens, TOTP seeds) and audit nothing; these replace
them. Providers are set in the environment, so their rows and tokens have no page at all.
"""

from __future__ import annotations

from typing import Any

from allauth.account import admin as address_admin
from allauth.account.models import EmailAddress
from allauth.mfa import admin as factor_admin
from allauth.mfa.models import Authenticator
from allauth.socialaccount import admin as account_admin
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.admin.base import PortalAdmin, is_superuser

# Imported, so that the pages are there to be replaced, whatever the order of the apps.
assert address_admin and factor_admin and account_admin
for _model in (Authenticator, EmailAddress, SocialAccount, SocialApp, SocialToken):
    admin.site.unregister(_model)


class WayInAdmin(PortalAdmin):
    """Seen, and taken away when somebody has lost it; made by its owner only."""

    list_select_related = ("user",)
    link_lookups = ("user",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Authenticator)
class AuthenticatorAdmin(WayInAdmin):
    audit_name = "login.factor"
    list_display = ("kind", "user", "created_at", "last_used_at")
    list_filter = ("type", "created_at")
    search_fields = ("user__email",)
    fields = ("type", "user", "created_at", "last_used_at")

    @display(description=_("second factor"), ordering="type")
    def kind(self, factor: Any) -> str:
        return str(factor.get_type_display())

    def audit_target(self, obj: Any) -> str:
        return f"{obj.user}: {obj.type}"


@admin.register(SocialAccount)
class SocialAccountAdmin(WayInAdmin):
    audit_name = "login.account"
    list_display = ("uid", "provider", "user", "date_joined", "last_login")
    list_filter = ("provider",)
    search_fields = ("user__email", "=uid")
    fields = ("uid", "provider", "user", "date_joined", "last_login")

    def audit_target(self, obj: Any) -> str:
        return f"{obj.user}: {obj.provider}"


@admin.register(EmailAddress)
class EmailAddressAdmin(WayInAdmin):
    audit_name = "login.address"
    list_display = ("email", "user", "verified", "primary")
    list_filter = ("verified", "primary")
    search_fields = ("email", "user__email")
    fields = ("email", "user", "verified", "primary")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("email", "user", "primary")
