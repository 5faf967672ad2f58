"""Personal tokens and browser sessions: what each gives, and when it ends (P20, M11, N05)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import ApiToken, AuditEntry
from accounts.services import token_create, user_set_active
from hermes_site.lib import clock
from memory.models import Session
from tests.gateway.api.conftest import API, Client

pytestmark = pytest.mark.django_db


def test_a_token_is_shown_once_and_kept_as_a_hash(api: Any) -> None:
    made = api.post("tokens", {"name": "laptop", "scopes": ["read", "chat"], "days": 7})
    assert made.status_code == 201
    secret = made.json()["token"]
    assert secret.startswith("hp_")
    assert made.headers["Cache-Control"] == "no-store"
    row = ApiToken.objects.get(pk=made.json()["id"])
    assert secret not in str(vars(row))
    assert row.digest != secret
    listed = api.get("tokens")
    assert secret not in listed.content.decode()
    assert "digest" not in listed.json()["results"][0]
    assert listed.json()["results"][0]["hint"] == secret[:8]
    assert secret not in str(list(AuditEntry.objects.values()))
    assert "token" not in api.get(f"tokens/{row.pk}").json()


def test_a_revoked_token_ends_at_once(api: Any) -> None:
    made = api.post("tokens", {}).json()
    other = APIClient(HTTP_AUTHORIZATION=f"Bearer {made['token']}")
    assert other.get(f"{API}me").status_code == 200
    assert api.delete(f"tokens/{made['id']}").status_code == 204
    refused = other.get(f"{API}me")
    assert (refused.status_code, refused.json()["code"]) == (401, "authentication_failed")
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert api.get(f"tokens/{made['id']}").json()["revoked_at"] is not None


def test_an_expired_token_is_refused(api: Any, alice: Any) -> None:
    client = Client(alice)
    ApiToken.objects.filter(pk=client.token.pk).update(
        expires_at=clock.now() - timedelta(seconds=1)
    )
    assert client.get("me").status_code == 401
    assert api.get("me").status_code == 200


@pytest.mark.parametrize("by", ["token", "cookie"])
def test_a_disabled_user_is_out_at_once(alice: Any, valkey: Any, by: str) -> None:
    client = Client(alice) if by == "token" else Client()
    if by == "cookie":
        client.force_login(alice)
    assert client.get("me").status_code == 200
    user_set_active(alice, False, actor="test")
    assert client.get("me").status_code == 401
    assert client.post("sessions", {}).status_code in (401, 403)
    assert Session.objects.count() == 0


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearer hp_",
        "Bearer hp_" + "x" * 43,
        "Bearer hp_" + "x" * 5000,
        "Bearer hp_é",
        "bearer null",
        "Basic YWxpY2U6cGFzcw==",
        "Token hp_x",
        "hp_x",
    ],
)
def test_a_bad_header_is_no_way_in(valkey: Any, header: str) -> None:
    refused = APIClient(HTTP_AUTHORIZATION=header).get(f"{API}me")
    assert refused.status_code == 401
    assert set(refused.json()) == {"code", "message", "extra"}


def test_a_bad_token_is_refused_even_beside_a_good_cookie(alice: Any, valkey: Any) -> None:
    client = Client()
    client.force_login(alice)
    client.credentials(HTTP_AUTHORIZATION="Bearer hp_wrong")
    assert client.get("me").status_code == 401


@pytest.mark.parametrize(
    ("scopes", "status", "given"),
    [
        (["account"], 201, ["account"]),
        (["read", "account"], 201, ["read", "account"]),
        (None, 201, ["account", "read"]),
        (["chat"], 403, None),
        (["approve", "read"], 403, None),
        (["root"], 400, None),
        ([], 400, None),
    ],
)
def test_a_token_cannot_make_a_wider_one(
    alice: Any, valkey: Any, scopes: Any, status: int, given: Any
) -> None:
    client = Client(alice, scopes=["account", "read"])
    made = client.post("tokens", {} if scopes is None else {"scopes": scopes})
    assert made.status_code == status
    if given:
        assert made.json()["scopes"] == given
        second = APIClient(HTTP_AUTHORIZATION=f"Bearer {made.json()['token']}")
        wider = second.post(f"{API}tokens", {"scopes": ["chat"]}, format="json")
        assert wider.status_code == 403
    assert ApiToken.objects.count() == (2 if given else 1)


def test_a_token_cannot_make_one_that_outlives_it(alice: Any, valkey: Any) -> None:
    short, secret = token_create(alice, days=1)
    client = APIClient(HTTP_AUTHORIZATION=f"Bearer {secret}")
    for body in ({}, {"days": 30}):
        made = client.post(f"{API}tokens", body, format="json").json()
        assert ApiToken.objects.get(pk=made["id"]).expires_at == short.expires_at


@pytest.mark.parametrize("days", [0, -1, 3651, 10**18, "7", 1.5, True, []])
def test_a_token_lives_a_bounded_number_of_days(api: Any, days: Any) -> None:
    assert api.post("tokens", {"days": days}).status_code == 400
    assert ApiToken.objects.count() == 1


def test_claimed_rights_are_not_believed(api: Any, alice: Any) -> None:
    for extra in ({"user": "x"}, {"is_admin": True}, {"expires_at": "2099-01-01"}, {"digest": "x"}):
        assert api.post("tokens", {"name": "x", **extra}).status_code == 400
    assert ApiToken.objects.count() == 1


def test_cookies_need_the_csrf_token(alice: Any, valkey: Any) -> None:
    browser = Client()
    browser.force_login(alice)
    refused = browser.post("sessions", {})
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf_failed")
    # Not even dressed up as a form, which a foreign page can send.
    as_text = browser.post("/api/v1/sessions", "{}", content_type="text/plain")
    assert as_text.status_code in (403, 415)
    assert Session.objects.count() == 0
    token = "a" * 32
    browser.cookies["hermes_csrf"] = token
    foreign = browser.post(
        "sessions", {}, HTTP_X_CSRFTOKEN=token, HTTP_ORIGIN="https://evil.example"
    )
    assert foreign.json()["code"] == "csrf_failed"
    assert Session.objects.count() == 0
    made = browser.post("sessions", {}, HTTP_X_CSRFTOKEN=token, HTTP_ORIGIN="http://testserver")
    assert (made.status_code, made.json()["platform"]) == (201, "web")


def test_a_method_cannot_be_smuggled(alice: Any, owned: Any) -> None:
    browser = Client()
    browser.force_login(alice)
    path = f"sessions/{owned.session.pk}"
    for header in ("HTTP_X_HTTP_METHOD_OVERRIDE", "HTTP_X_METHOD_OVERRIDE"):
        assert browser.get(path, **{header: "DELETE"}).status_code == 200
    assert browser.get(f"{path}?_method=DELETE").status_code == 200
    assert Session.objects.filter(pk=owned.session.pk).exists()
