"""Cursor pagination of every list."""

from __future__ import annotations

from rest_framework.pagination import CursorPagination


class IdCursorPagination(CursorPagination):
    """``{"next", "previous", "results"}``; ids sort by time, newest first unless a view says."""

    ordering = "-id"
    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200
