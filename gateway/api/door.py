"""What all REST views share: the body's size, checked input, pages of rows, and the schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from django.conf import settings
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import ApiToken, User
from gateway.api.authentication import via
from gateway.api.fields import ErrorSerializer, Form
from gateway.api.pagination import IdCursorPagination
from gateway.api.parsing import body_too_large
from hermes_site.lib.errors import NotFound, UserFacing

Method = TypeVar("Method", bound=Callable[..., Any])


class Door(APIView):
    """Views parse with a form, call one service, and answer with a row."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self._check_size(request)
        super().initial(request, *args, **kwargs)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """What is one user's stays out of every cache, unless the view says otherwise."""
        response.headers.setdefault("Cache-Control", "no-store")
        return super().finalize_response(request, response, *args, **kwargs)

    def body_limit(self) -> int:
        """The largest body in bytes."""
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE

    def _check_size(self, request: Request) -> None:
        """Before anything is read, authentication included: CSRF looks into form bodies."""
        length = request.META.get("CONTENT_LENGTH") or ""
        if not length and request.headers.get("Transfer-Encoding"):
            raise UserFacing("Send a Content-Length.", code="length_required", status=411)
        if length.isdecimal() and int(length) > self.body_limit():
            raise body_too_large(self.body_limit())

    def form(self, kind: type[Form]) -> dict[str, Any]:
        """The body as ``kind`` reads it. Raises ``ValidationError`` that names the fields."""
        form = kind(data=self.request.data)
        form.is_valid(raise_exception=True)
        return dict(form.validated_data)

    def query(self, kind: type[Form]) -> dict[str, Any]:
        """The query parameters that ``kind`` has, checked; others are left alone."""
        given, names = self.request.query_params, [str(name) for name in kind().fields]
        form = kind(data={name: given[name] for name in names if name in given})
        form.is_valid(raise_exception=True)
        return dict(form.validated_data)

    @property
    def user(self) -> User:
        """The caller: past the permission check it is an active user."""
        return cast(User, self.request.user)

    @property
    def token(self) -> ApiToken | None:
        """The token that the request came with; None for a browser session."""
        return cast("ApiToken | None", self.request.auth)

    @property
    def via(self) -> str:
        return via(self.request)


class ListDoor(Door):
    """A view whose GET is a list, page by page."""

    pagination_class = IdCursorPagination

    def page(
        self, rows: QuerySet[Any], shape: type[serializers.Serializer[Any]], *ordering: str
    ) -> Response:
        paginator = self.pagination_class(*ordering)
        found = paginator.paginate_queryset(rows, self.request, view=self)
        return paginator.get_paginated_response(shape(found, many=True).data)


class Missing(APIView):
    """Every address of the API that does not exist, whatever the method."""

    permission_classes = [AllowAny]
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound(f"There is nothing at {request.path[:200]!r}.")


def describe(
    summary: str,
    *,
    answer: Any = None,
    status: Any = 200,
    body: type[Form] | None = None,
    query: type[Form] | None = None,
    multipart: bool = False,
) -> Callable[[Method], Method]:
    """What the OpenAPI document says about a method; errors have one form everywhere. ``status``
    is a number, or a number and a media type."""
    request: Any = {"multipart/form-data": body} if multipart else body
    described: Callable[[Method], Method] = extend_schema(
        summary=summary,
        request=request,
        parameters=[query] if query else [],
        responses={status: answer, "4XX": ErrorSerializer},
    )
    return described
