"""A person's own settings: profile, limits, tokens."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django.conf import settings as site
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from accounts.choices import LimitAction, TokenScope
from accounts.models import ApiToken
from accounts.selectors.level import level_of
from accounts.selectors.limit import limits_left
from accounts.services import token_create, token_revoke, user_update
from hermes_site.lib.errors import PortalError, UserFacing

_YEAR = 365 * 24 * 3600


@login_required
@require_GET
def settings_page(request: HttpRequest) -> HttpResponse:
    return render(request, "portal/settings.html", _context(request))


@login_required
@require_POST
def profile(request: HttpRequest) -> HttpResponse:
    """Save name, language and time zone."""
    fields = {name: request.POST.get(name, "") for name in ("name", "language", "timezone")}
    try:
        user_update(request.user, **fields)  # type: ignore[arg-type]
    except PortalError as error:
        messages.error(request, error.message)
        return redirect("settings")
    messages.success(request, _("Saved."))
    response = redirect("settings")
    response.set_cookie(
        site.LANGUAGE_COOKIE_NAME,
        fields["language"],
        max_age=_YEAR,
        secure=site.SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


@login_required
@require_POST
@never_cache
def create_token(request: HttpRequest) -> HttpResponse:
    """Make a token and show it this once; not redirected, so that it is stored nowhere."""
    context: dict[str, Any] = {}
    try:
        _token, secret = token_create(
            request.user,  # type: ignore[arg-type]
            name=request.POST.get("name", ""),
            scopes=request.POST.getlist("scopes"),
            days=_days(request.POST.get("days", "").strip()),
            via="web",
        )
        context["secret"] = secret
    except PortalError as error:
        messages.error(request, error.message)
    return render(request, "portal/settings.html", _context(request) | context)


def _days(raw: str) -> int | None:
    """Nothing is for ever; what cannot be read must not be."""
    if not raw:
        return None
    if not (raw.isascii() and raw.isdecimal() and len(raw) < 6):
        raise UserFacing(_("Days must be a whole number."))
    return int(raw)


@login_required
@require_POST
def revoke_token(request: HttpRequest, token_id: Any) -> HttpResponse:
    token_revoke(request.user, token_id, via="web")  # type: ignore[arg-type]
    messages.success(request, _("The token no longer works."))
    return redirect("settings")


def _limits(user: Any) -> list[dict[str, Any]]:
    """The limits in words."""
    windows = {60: _("minute"), 3600: _("hour"), 86400: _("day")}
    return [
        row
        | {
            "label": LimitAction(row["action"]).label,
            "window": windows.get(row["seconds"], f"{row['seconds']} s"),
            "resets": parse_datetime(row["reset_at"]) if row["reset_at"] else None,
        }
        for row in limits_left(user)
    ]


def _context(request: HttpRequest) -> dict[str, Any]:
    user: Any = request.user
    return {
        "level": level_of(user),
        "limits": _limits(user),
        "tokens": ApiToken.objects.for_user(user).filter(revoked_at=None),
        "scopes": TokenScope.choices,
        "languages": site.LANGUAGES,
        "timezones": sorted(available_timezones()),
    }
