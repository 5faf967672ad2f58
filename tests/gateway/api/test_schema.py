"""The OpenAPI document is true: what it allows is answered as it says (P28)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import booleans
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks, not_a_server_error

from accounts.services import limit_set
from tests.gateway.api.conftest import Client

pytestmark = pytest.mark.django_db
EXAMPLES = 15
load_all_checks()
CHECKED = [
    not_a_server_error,
    *CHECKS.get_by_names(
        [
            "status_code_conformance",
            "content_type_conformance",
            "response_schema_conformance",
        ]
    ),
]
REFUSED = CHECKS.get_by_names(["negative_data_rejection"])


def wrong_parts(case: Any) -> list[str]:
    """Which of body and query were made wrong on purpose; ids and headers are put right."""
    parts = case.meta.components.items()
    wrong = [place.value for place, info in parts if info.mode == GenerationMode.NEGATIVE]
    return [place for place in wrong if place in ("body", "query")]


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


@pytest.fixture
def known(owned: Any) -> dict[str, str]:
    """Ids that exist, by the first part of the path."""
    limit_set(subject="everyone", action="message", rate="100000/m", actor="test")
    return {
        "sessions": str(owned.session.pk),
        "messages": str(owned.message.pk),
        "runs": str(owned.run.pk),
        "approvals": str(owned.approval.pk),
        "tokens": str(owned.token.pk),
        "files": str(owned.file.pk),
    }


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_answers_are_as_the_document_says(known: Any, api: Any, mode: GenerationMode) -> None:
    """Generated requests, half of them about things that exist: no 5xx, no status, type or
    shape that is not in the document, and nothing accepted that it forbids."""
    header = {"Authorization": api._credentials["HTTP_AUTHORIZATION"]}
    schema = schemathesis.openapi.from_wsgi(
        "/api/v1/schema/", get_wsgi_application(), headers={"Accept": "application/json"}
    )
    called = Counter()
    for found in schema.get_all_operations():
        operation = found.ok()
        try_out(operation, mode, known, header, called)
    wrong = called.pop("wrong on purpose")
    if mode == GenerationMode.POSITIVE:
        assert (wrong, len(called)) == (0, 26)
    else:
        assert wrong > 100


def try_out(
    operation: Any, mode: GenerationMode, known: Any, header: Any, called: Counter[str]
) -> None:
    destroys = operation.method == "delete"

    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), real=booleans())
    def check(case: Any, real: bool) -> None:
        wrong = wrong_parts(case)
        if (real or wrong) and not destroys and "id" in case.path_parameters:
            case.path_parameters["id"] = known[operation.path.split("/")[3]]
        called[operation.label] += 1
        called["wrong on purpose"] += bool(wrong)
        refused = REFUSED if wrong else []
        case.call_and_validate(headers=header, checks=[*CHECKED, *refused])

    try:
        check()
    except Unsatisfiable:
        assert mode == GenerationMode.NEGATIVE  # nothing can be wrong about this one
