"""Cursor pagination of every list."""

from __future__ import annotations

from base64 import b64decode
from typing import Any
from urllib.parse import parse_qsl

from django.core.exceptions import ValidationError
from rest_framework.exceptions import NotFound, ParseError
from rest_framework.pagination import CursorPagination


class IdCursorPagination(CursorPagination):
    """``{"next", "previous", "results"}``; ids sort by time, newest first unless a view says."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200

    def __init__(self, *ordering: str) -> None:
        self.ordering = ordering or ("-id",)

    def get_ordering(self, request: Any, queryset: Any, view: Any) -> tuple[str, ...]:
        return tuple(self.ordering)

    def get_page_size(self, request: Any) -> int:
        raw = request.query_params.get(self.page_size_query_param)
        if raw is None:
            return self.page_size
        number = raw.isascii() and raw.isdecimal() and len(raw) < 10
        if not number or not 1 <= int(raw) <= self.max_page_size:
            raise ParseError(f"limit={raw[:40]!r} is not a number from 1 to {self.max_page_size}.")
        return int(raw)

    def decode_cursor(self, request: Any) -> Any:
        """Only what was handed out: DRF takes rubbish for the first page."""
        encoded = request.query_params.get(self.cursor_query_param)
        if encoded is not None:
            try:
                text = b64decode(encoded, validate=True).decode("ascii")
                names = dict(parse_qsl(text, strict_parsing=True))
            except ValueError:
                names = {}
            if not names or not names.keys() <= {"o", "r", "p"}:
                raise NotFound("Invalid cursor.")
        return super().decode_cursor(request)

    def paginate_queryset(self, queryset: Any, request: Any, view: Any = None) -> Any:
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValidationError, ValueError, TypeError, OverflowError) as error:
            # The position in a cursor comes from the client and goes into the query as it is.
            raise NotFound("Invalid cursor.") from error
