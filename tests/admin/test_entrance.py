"""The door: allauth's login, nobody around it, and a content policy that is laxer only here."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client
from django.urls import reverse

from tests.admin.conftest import browser

PASSWORD = "correct horse battery"


def test_the_admins_own_login_form_is_gone(admin_user: Any) -> None:
    client = browser()
    asked = {"username": admin_user.email, "password": PASSWORD}
    response = client.post(reverse("admin:login"), asked)
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("account_login"))
    assert client.get(reverse("admin:index")).status_code == 302


def test_a_second_factor_is_not_bypassed(admin_user: Any, settings: Any) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    TOTP.activate(admin_user, generate_totp_secret())
    client = browser()
    asked = {"login": admin_user.email, "password": PASSWORD}
    response = client.post(reverse("account_login"), asked)
    assert response["Location"].startswith(reverse("mfa_authenticate"))
    assert client.get(reverse("admin:index")).status_code == 302


def test_a_disabled_administrator_is_out_at_once(admin_user: Any, root: Client) -> None:
    assert root.get(reverse("admin:index")).status_code == 200
    admin_user.is_active = False
    admin_user.save()
    assert root.get(reverse("admin:index")).status_code == 302


def test_who_must_have_a_second_factor_is_sent_to_set_one_up(
    admin_user: Any, root: Client, settings: Any
) -> None:
    settings.HERMES_ADMIN_MFA = True
    response = root.get(reverse("admin:index"))
    assert response.status_code == 302
    assert root.get(response["Location"])["Location"] == reverse("mfa_index")
    Authenticator.objects.create(user=admin_user, type="totp", data={"secret": "x"})
    assert root.get(reverse("admin:index")).status_code == 200


def test_the_own_password_is_changed_on_the_portals_page(root: Client) -> None:
    response = root.get(reverse("admin:password_change"))
    assert response["Location"] == reverse("account_change_password")


@pytest.mark.parametrize(("path", "lax"), [("/admin/", True), ("/accounts/login/", False)])
def test_the_content_policy_is_laxer_only_here(path: str, lax: bool, root: Client) -> None:
    client = root if lax else browser()
    policy = client.get(path)["Content-Security-Policy"]
    assert ("'unsafe-eval'" in policy) is lax
    assert ("style-src 'self' 'unsafe-inline'" in policy) is lax
    assert "script-src 'self' 'unsafe-inline'" not in policy
    assert "frame-ancestors 'none'" in policy


def test_the_overview_says_what_is_away_when_redis_is(root: Client) -> None:
    page = root.get(reverse("admin:index")).text
    assert "is away" in page
    assert "works" in page


def test_the_overview_counts(root: Client, rows: Any, valkey: Any) -> None:
    response = root.get(reverse("admin:index"))
    figures = {f["label"]: f["value"] for f in response.context["numbers"]}
    assert figures == {
        "Active today": 1,
        "Messages today": 1,
        "Tool calls today": 1,
        "Tokens today": 0,
        "Approvals waiting": 1,
    }
    states = {row["state"]: row["count"] for row in response.context["runs"]}
    assert states == {
        "queued": 0, "running": 0, "waiting": 0, "completed": 0, "failed": 1, "cancelled": 0
    }  # fmt: skip
    assert [row["email"] for row in response.context["people"]] == ["alice@example.com"]
    away = {thing["name"]: thing["ok"] for thing in response.context["health"]}
    assert (away["Database"], away["Redis"], away["Worker turns"]) == (True, True, False)
