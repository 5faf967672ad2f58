"""The link of an invitation."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from accounts.adapter import CODE
from accounts.services.invitation import invitation_find
from hermes_site.lib.errors import NotFound


@require_GET
def invite(request: HttpRequest, code: str) -> HttpResponse:
    """Remember the code for the sign-up form. Raises ``NotFound`` for one that is used or old."""
    if invitation_find(code) is None:
        raise NotFound("This invitation was used, or is more than a week old. Ask for a new one.")
    request.session[CODE] = code
    return redirect("account_signup")
