"""Every error of the REST door as ``{"code", "message", "extra"}``."""

from __future__ import annotations

import errno
import logging
import math
from typing import Any

from django.core.exceptions import (
    BadRequest,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.db import DatabaseError, DataError
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from hermes_site.lib.errors import PortalError, Transient, UserFacing

log = logging.getLogger(__name__)


def handle(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler."""
    error = _known(error)
    if isinstance(error, DatabaseError):
        log.exception("database_error")
        error = Transient("The database is away. Try again.", retry_after=2)
    headers: dict[str, str] = {}
    if isinstance(error, PortalError):
        set_rollback()
        if wait := getattr(error, "retry_after", None):
            headers["Retry-After"] = str(math.ceil(wait))
        return Response(error.as_dict(), status=error.status, headers=headers)
    set_rollback()
    if not isinstance(error, exceptions.APIException):
        log.exception("unhandled_error", exc_info=error)
        failed = {"code": "internal", "message": "That failed on our side.", "extra": {}}
        return Response(failed, status=500)
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(math.ceil(wait))
    return Response(_body(error), status=error.status_code, headers=headers)


def _known(error: Exception) -> Exception:
    """Django's errors about requests as the portal's own."""
    match error:
        case Http404():
            return exceptions.NotFound()
        case PermissionDenied():
            return exceptions.PermissionDenied()
        case RequestDataTooBig():
            return UserFacing("The body is too large.", code="too_large", status=413)
        case SuspiciousOperation() | BadRequest() | UnreadablePostError():
            return UserFacing(f"The request cannot be read: {str(error)[:200]}")
        case OSError() if error.errno in (errno.ENOSPC, errno.EDQUOT):
            log.error("storage_full error=%s", error)
            return UserFacing("The storage is full.", code="storage_full", status=507)
        case DataError():
            log.warning("data_refused error=%s", error)
            return UserFacing("A value is out of range.")
    return error


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
