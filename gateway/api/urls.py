"""The addresses of REST (docs/api.md), each with and without a slash at its end."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path
from django.views.decorators.csrf import csrf_exempt
from rest_framework.views import APIView

from gateway.api.approvals import ApprovalsView, ApprovalView, DecideView
from gateway.api.docs import DocsView, SchemaView
from gateway.api.door import Missing
from gateway.api.files import FileContentView, FilesView, FileView
from gateway.api.me import MeView
from gateway.api.messages import EditView, MessagesView, MessageView, RegenerateView
from gateway.api.runs import CancelView, RunView, SteerView
from gateway.api.sessions import SessionsView, SessionView
from gateway.api.tokens import TokensView, TokenView
from gateway.api.tools import ToolsView
from gateway.sse import session_events

app_name = "api"

VIEWS: dict[str, type[APIView]] = {
    "me": MeView,
    "sessions": SessionsView,
    "sessions/<uuid:id>": SessionView,
    "sessions/<uuid:id>/messages": MessagesView,
    "messages/<uuid:id>": MessageView,
    "messages/<uuid:id>/edit": EditView,
    "messages/<uuid:id>/regenerate": RegenerateView,
    "runs/<uuid:id>": RunView,
    "runs/<uuid:id>/cancel": CancelView,
    "runs/<uuid:id>/steer": SteerView,
    "approvals": ApprovalsView,
    "approvals/<uuid:id>": ApprovalView,
    "approvals/<uuid:id>/decide": DecideView,
    "tools": ToolsView,
    "tokens": TokensView,
    "tokens/<uuid:id>": TokenView,
    "files": FilesView,
    "files/<uuid:id>": FileView,
    "files/<uuid:id>/content": FileContentView,
}


def _name(route: str) -> str:
    return route.replace("<uuid:id>/", "").replace("/<uuid:id>", "-one").replace("/", "-")


def _both(route: str, view: type[APIView]) -> list[URLPattern]:
    """The address as documented, and its twin with a slash, which the schema leaves out."""
    return [
        path(route, view.as_view(), name=_name(route)),
        path(f"{route}/", view.as_view(schema=None)),
    ]


# Not a DRF view; it only reads, and answers other methods itself.
_events = csrf_exempt(session_events)

urlpatterns = [
    *(pattern for route, view in VIEWS.items() for pattern in _both(route, view)),
    path("sessions/<str:id>/events", _events, name="sessions-events"),
    path("sessions/<str:id>/events/", _events),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("schema", SchemaView.as_view()),
    path("docs/", DocsView.as_view(), name="docs"),
    path("docs", DocsView.as_view()),
    re_path("", Missing.as_view(), name="missing"),
]
