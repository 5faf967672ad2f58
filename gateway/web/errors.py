"""Errors of the pages: every ``PortalError`` as a page with its status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views import defaults

from hermes_site.lib.errors import PortalError

Handler = Callable[[HttpRequest], HttpResponse]


class PortalErrors:
    """Middleware: what a page's view raises for a person to read."""

    def __init__(self, get_response: Handler) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._next(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, PortalError):
            return None
        context: dict[str, Any] = {"status": error.status, "message": error.message}
        return render(request, "portal/error.html", context, status=error.status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """What no view saw, such as a ``Host`` that is none: as JSON for the API."""
    if not request.path.startswith("/api/"):
        return defaults.bad_request(request, exception)
    refused = {"code": "invalid", "message": "The request cannot be read.", "extra": {}}
    return JsonResponse(refused, status=400)
