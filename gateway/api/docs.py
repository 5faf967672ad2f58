"""The OpenAPI document and the page that shows it."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from gateway.api.fields import Form


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "gateway.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "hp_…"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "gateway.api.authentication.PortalSessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "hermes_session",
            "description": "The login of the pages; unsafe methods also need X-CSRFToken.",
        }


class FormShape(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Says of every request body that unknown names are refused."""

    target_class = Form
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        shape: dict[str, Any] = auto_schema._map_serializer(
            self.target, direction, bypass_extensions=True
        )
        return {**shape, "additionalProperties": False}


class SchemaView(SpectacularAPIView):
    @extend_schema(exclude=True)
    def get(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]


class DocsView(SpectacularSwaggerSplitView):
    """Its script comes by an address of its own, as the pages' policy wants."""

    url_name = "api:schema"
    template_name = "api/docs.html"
