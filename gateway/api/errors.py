"""Every error of the REST door as ``{"code", "message", "extra"}``."""

from __future__ import annotations

import logging
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from hermes_site.lib.errors import PortalError

log = logging.getLogger(__name__)


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler; None lets Django answer 500."""
    headers: dict[str, str] = {}
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    elif isinstance(error, DatabaseError):
        log.exception("database_error")
        body = {"code": "unavailable", "message": "The database is away. Try again.", "extra": {}}
        return Response(body, status=503, headers={"Retry-After": "2"})
    if isinstance(error, PortalError):
        set_rollback()
        if wait := getattr(error, "retry_after", None):
            headers["Retry-After"] = str(int(wait))
        return Response(error.as_dict(), status=error.status, headers=headers)
    if not isinstance(error, exceptions.APIException):
        return None
    set_rollback()
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    return Response(_body(error), status=error.status_code, headers=headers)


def _body(error: exceptions.APIException) -> dict[str, Any]:
    if isinstance(error, exceptions.ValidationError):
        fields = error.detail if isinstance(error.detail, dict) else {"body": error.detail}
        words = "; ".join(f"{name}: {_first(detail)}" for name, detail in fields.items())
        return {"code": "invalid", "message": words, "extra": {"fields": fields}}
    codes = error.get_codes()
    code = codes if isinstance(codes, str) else "invalid"
    return {"code": code, "message": str(error.detail), "extra": {}}


def _first(detail: Any) -> str:
    while isinstance(detail, list | dict) and detail:
        detail = detail[0] if isinstance(detail, list) else next(iter(detail.values()))
    return str(detail)
