"""The content security policy of the administration, which is laxer than the portal's.

Unfold's pages evaluate Alpine expressions and carry inline styles. The rest of the portal, and
inline scripts here too, stay as ``CONTENT_SECURITY_POLICY`` says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from csp.constants import SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.http import HttpRequest
from django.http.response import HttpResponseBase

ADMIN = "/admin/"
RELAXED = {"script-src": [SELF, UNSAFE_EVAL], "style-src": [SELF, UNSAFE_INLINE]}

Answer = HttpResponseBase | Awaitable[HttpResponseBase]


class AdminPolicy:
    """Below ``CSPMiddleware``: marks answers of the administration for it."""

    sync_capable = async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Answer]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Answer:
        answer = self.get_response(request)
        if isinstance(answer, HttpResponseBase):
            return _marked(request, answer)
        return _later(request, answer)


async def _later(request: HttpRequest, answer: Awaitable[HttpResponseBase]) -> HttpResponseBase:
    return _marked(request, await answer)


def _marked(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if request.path_info.startswith(ADMIN):
        response._csp_replace = RELAXED  # type: ignore[attr-defined]
    return response
