"""The door of the administration, and what is not let in there.

Logging in happens with allauth, so that a second factor is asked for and its rate limits hold.
"""

from __future__ import annotations

from typing import Any

from allauth.account.decorators import secure_admin_login
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _
from django_celery_beat import admin as beat_admin
from django_celery_beat import models as beat

# The timetable is code (CELERY_BEAT_SCHEDULE); a row here would run any task with any arguments.
assert beat_admin
for _model in (
    beat.ClockedSchedule,
    beat.CrontabSchedule,
    beat.IntervalSchedule,
    beat.PeriodicTask,
    beat.SolarSchedule,
):
    if admin.site.is_registered(_model):
        admin.site.unregister(_model)


def factor_missing(request: HttpRequest) -> bool:
    """Whether this administrator has yet to set up a second factor (``HERMES_ADMIN_MFA``)."""
    wanted = getattr(settings, "HERMES_ADMIN_MFA", False)
    return bool(wanted and request.user.is_authenticated and not is_mfa_enabled(request.user))


def may_enter(request: HttpRequest) -> bool:
    user = request.user
    staff = user.is_active and getattr(user, "is_staff", False)
    return bool(staff and not factor_missing(request))


@secure_admin_login
def login(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
    """Strangers go to allauth's page, others are refused; an administrator comes this far only
    without the second factor that is asked for."""
    return redirect("mfa_index" if factor_missing(request) else "admin:index")


def password_change(
    request: HttpRequest, extra_context: dict[str, Any] | None = None
) -> HttpResponse:
    """Allauth's page, which asks for the login again first."""
    return redirect("account_change_password")


admin.site.login = login  # type: ignore[assignment, method-assign]
admin.site.password_change = password_change  # type: ignore[assignment, method-assign]
admin.site.has_permission = may_enter  # type: ignore[method-assign]
admin.site.index_template = "admin/portal/dashboard.html"
admin.site.index_title = _("Overview")
