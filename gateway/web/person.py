"""Each page in the language and the time of the person who reads it, and for nobody after them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation


class Person:
    """Middleware behind the login."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = request.user
        if not user.is_authenticated:
            return self._next(request)
        if user.language:
            translation.activate(user.language)
            request.LANGUAGE_CODE = translation.get_language()
        with suppress(ZoneInfoNotFoundError, ValueError):
            timezone.activate(ZoneInfo(user.timezone))
        try:
            response = self._next(request)
        finally:
            timezone.deactivate()
        # "Back" after logging out shows nothing, and no proxy keeps a page.
        if "Cache-Control" not in response:
            response["Cache-Control"] = "no-store"
        return response
