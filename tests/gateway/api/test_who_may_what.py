"""Every address and method of the API against every kind of caller (P17, M01, M13).

The table below has a row for each address of the URLconf; one without a row fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps

from accounts.models import User
from gateway.api.urls import urlpatterns
from tests.gateway.api.conftest import Client

pytestmark = pytest.mark.django_db

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
SAFE = {"GET"}
# What only Alice may read, wherever it is kept.
CANARY = "canary-7d1f"


@dataclass(frozen=True)
class Row:
    """``owner`` is the owner's status. ``scope`` is what a token needs. ``body`` and ``address``
    are made from Alice's things; an address with her ids is 404 for everybody else."""

    owner: int
    scope: str = "read"
    body: Callable[[Any], Any] = lambda owned: {}
    public: bool = False


def _text(owned: Any) -> dict[str, str]:
    return {"text": "hello"}


def _upload(owned: Any) -> dict[str, Any]:
    from django.core.files.uploadedfile import SimpleUploadedFile

    return {"file": SimpleUploadedFile("x.txt", b"x")}


IDS: dict[str, Callable[[Any], Any]] = {
    "sessions": lambda owned: owned.session.pk,
    "messages": lambda owned: owned.message.pk,
    "runs": lambda owned: owned.run.pk,
    "approvals": lambda owned: owned.approval.pk,
    "tokens": lambda owned: owned.token.pk,
    "files": lambda owned: owned.file.pk,
}
# The last method of an address may destroy what the ones before it need.
TABLE: dict[str, dict[str, Row]] = {
    "me": {"GET": Row(200)},
    "sessions": {"GET": Row(200), "POST": Row(201, "chat")},
    "sessions/<id>": {
        "GET": Row(200),
        "PATCH": Row(200, "chat", lambda owned: {"title": "new"}),
        "DELETE": Row(204, "chat"),
    },
    "sessions/<id>/messages": {"GET": Row(200), "POST": Row(202, "chat", _text)},
    "messages/<id>": {"GET": Row(200)},
    # A run is open in the session, which comes after the question whose it is.
    "messages/<id>/edit": {"POST": Row(409, "chat", _text)},
    "messages/<id>/regenerate": {"POST": Row(409, "chat")},
    "runs/<id>": {"GET": Row(200)},
    "runs/<id>/cancel": {"POST": Row(200, "chat")},
    "runs/<id>/steer": {"POST": Row(202, "chat", _text)},
    "approvals": {"GET": Row(200)},
    "approvals/<id>": {"GET": Row(200)},
    "approvals/<id>/decide": {"POST": Row(200, "approve", lambda owned: {"decision": "allow"})},
    "tools": {"GET": Row(200)},
    "tokens": {"GET": Row(200, "account"), "POST": Row(201, "account")},
    "tokens/<id>": {"GET": Row(200, "account"), "DELETE": Row(204, "account")},
    "files": {"GET": Row(200), "POST": Row(201, "chat", _upload)},
    "files/<id>": {"GET": Row(200)},
    "files/<id>/content": {"GET": Row(200)},
    "schema": {"GET": Row(200, public=True)},
    "docs": {"GET": Row(200, public=True)},
}
# Looked at elsewhere: the event stream in test_event_stream.py, the rest is nowhere.
ELSEWHERE = {"sessions/<id>/events", ""}


def routes() -> list[str]:
    """Every address of the URLconf, as the table writes it."""
    found = [str(pattern.pattern) for pattern in urlpatterns]
    for kind in ("uuid", "str"):
        found = [route.replace(f"<{kind}:id>", "<id>") for route in found]
    return [route.removesuffix("/") for route in found]


def test_every_address_has_a_row_and_both_forms() -> None:
    found = routes()
    assert set(found) == set(TABLE) | ELSEWHERE
    assert {found.count(route) for route in set(found) - {""}} == {2}


def address(route: str, owned: Any) -> str:
    return route.replace("<id>", str(IDS[route.split("/")[0]](owned))) if "<id>" in route else route


def call(client: Any, method: str, route: str, owned: Any, row: Row | None) -> Any:
    body = row.body(owned) if row and method not in SAFE else None
    form = "multipart" if route == "files" else "json"
    if route in ("schema", "docs"):
        return client.get(address(route, owned), HTTP_ACCEPT="*/*")
    return client.generic_call(method, address(route, owned), body, form)


class Caller(Client):
    def generic_call(self, method: str, path: str, body: Any, form: str) -> Any:
        send = getattr(self, method.lower())
        return send(path) if body is None else send(path, body, format=form)


def rows() -> dict[str, list[str]]:
    """Every row of the database, as text; when a token was last used does not count."""
    found = {}
    for label in ("accounts", "memory", "tools", "agents"):
        for model in apps.get_app_config(label).get_models():
            values = [dict(row) for row in model.objects.order_by("pk").values()]
            for row in values:
                row.pop("last_used_at", None)
            found[model.__name__] = [str(row) for row in values]
    return found


@pytest.fixture
def house(owned: Any, carol: Any, admin_user: Any) -> Any:
    """Alice's things, with a canary in each, and what names her."""
    from memory.models import Attachment, Message, Session

    Session.objects.update(title=CANARY, tags=[CANARY])
    Message.objects.update(text=CANARY)
    Attachment.objects.update(name=CANARY)
    owned.alice = User.objects.get(email="alice@example.com")
    owned.carol, owned.admin = carol, admin_user
    return owned


def outsiders(house: Any) -> dict[str, Any]:
    """Callers who must get 404 for an address with one of Alice's ids."""
    cookie = Caller()
    cookie.force_login(house.carol)
    cookie.cookies["hermes_csrf"] = "a" * 32
    cookie.credentials(HTTP_X_CSRFTOKEN="a" * 32, HTTP_ORIGIN="http://testserver")
    return {
        "stranger": Caller(house.carol),
        "stranger's browser": cookie,
        "administrator": Caller(house.admin),
    }


def nobody(house: Any) -> dict[str, Any]:
    """Callers who are not let in at all."""
    disabled = User.objects.create_user("gone@example.com", None, level="full-access")
    token, browser = Caller(disabled), Caller()
    browser.force_login(disabled)
    User.objects.filter(pk=disabled.pk).update(is_active=False)
    return {"anonymous": Caller(), "disabled": token, "disabled's browser": browser}


@pytest.mark.parametrize("route", TABLE)
def test_only_its_owner_gets_through(route: str, house: Any) -> None:
    table, strangers, shut_out = TABLE[route], outsiders(house), nobody(house)
    lacking = {
        scope: Caller(house.alice, scopes=[s for s in ("approve", "account") if s != scope])
        for scope in ("read", "chat", "approve", "account")
    }
    owner, before = Caller(house.alice), rows()
    for method in METHODS:
        row = table.get(method)
        if row and row.public:
            assert call(Caller(), method, route, house, row).status_code == row.owner
            continue
        if any(known.public for known in table.values()):
            continue
        for name, client in shut_out.items():
            assert call(client, method, route, house, row).status_code == 401, (name, method)
        if row is None:
            assert call(owner, method, route, house, row).status_code == 405, method
            continue
        narrow = call(lacking[row.scope], method, route, house, row)
        assert narrow.status_code == 403, method
        for name, client in strangers.items():
            if "<id>" in route:
                answer = call(client, method, route, house, row)
                assert answer.status_code == 404, (name, method)
                assert answer.json()["code"] == "not_found"
            elif method in SAFE:
                answer = call(client, method, route, house, row)
                assert answer.status_code == row.owner, (name, method)
                seen = answer.content.decode()
                assert CANARY not in seen
                assert not [id for id in IDS.values() if str(id(house)) in seen]
        assert rows() == before, "a refused call changed something"
    for method, row in table.items():
        if not row.public:
            answer = call(owner, method, route, house, row)
            assert answer.status_code == row.owner, (method, getattr(answer, "content", ""))


@pytest.mark.parametrize("route", [r for r in TABLE if not TABLE[r].get("GET", Row(0)).public])
def test_a_browser_needs_the_csrf_token_everywhere(route: str, house: Any) -> None:
    browser, before = Caller(), None
    browser.force_login(house.alice)
    before = rows()
    for method, row in TABLE[route].items():
        answer = call(browser, method, route, house, row)
        if method in SAFE:
            assert answer.status_code == row.owner
        else:
            assert (answer.status_code, answer.json()["code"]) == (403, "csrf_failed"), method
    assert rows() == before


def test_reading_changes_nothing(house: Any) -> None:
    owner = Caller(house.alice)
    before = rows()
    for route, table in TABLE.items():
        for suffix in ("", "/"):
            if "GET" in table:
                answer = owner.get(address(route, house) + suffix, HTTP_ACCEPT="*/*")
                assert answer.status_code == 200, route
                answer.close()
    assert rows() == before


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", ["nothing", "sessions/x", "runs/%00", "me/more", "admin", "//me"])
def test_what_is_nowhere_is_a_json_404(method: str, path: str, alice: Any, valkey: Any) -> None:
    for client in (Caller(), Caller(alice)):
        answer = client.generic_call(method, f"/api/v1/{path}", None, "json")
        assert answer.status_code == 404
        assert json.loads(answer.content).keys() == {"code", "message", "extra"}
