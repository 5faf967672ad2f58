"""The OpenAPI document is true: what it allows is answered as it says (P28)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import SchemathesisConfig

from accounts.services import limit_set
from tests.gateway.api.conftest import Client

pytestmark = pytest.mark.django_db
EXAMPLES = 12


def document(client: Any) -> dict[str, Any]:
    return dict(json.loads(client.get("schema/", HTTP_ACCEPT="application/json").content))


def test_the_document_lists_every_address_of_the_table(valkey: Any) -> None:
    from tests.gateway.api.test_who_may_what import TABLE

    paths = document(Client())["paths"]
    wanted = {
        f"/api/v1/{route.replace('<id>', '{id}')}": {method.lower() for method in table}
        for route, table in TABLE.items()
        if route not in ("schema", "docs")
    }
    assert {path: set(methods) for path, methods in paths.items()} == wanted


def test_every_operation_is_described(valkey: Any) -> None:
    for path, methods in document(Client())["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], path
            assert "4XX" in operation["responses"], path
            assert operation["security"] == [{"token": []}, {"session": []}], path
            body = operation.get("requestBody", {}).get("content", {})
            assert set(body) <= {"application/json", "multipart/form-data"}, (path, method)


def test_the_page_has_no_inline_script_or_style(valkey: Any) -> None:
    page = Client().get("docs/", HTTP_ACCEPT="text/html").content.decode()
    assert "<style" not in page
    assert page.count("<script") == page.count("<script src=") == 3
    script = Client().get("docs/?script=", HTTP_ACCEPT="*/*")
    assert script.headers["Content-Type"].startswith("application/javascript")
    assert b"/api/v1/schema/" in script.content


OPERATIONS = [
    f"{method.upper()} {path}"
    for path, methods in __import__("drf_spectacular.generators", fromlist=["x"])
    .SchemaGenerator()
    .get_schema(request=None, public=True)["paths"]
    .items()
    for method in methods
]
