"""Each page of the administration: who may open it, what it costs, what it never shows."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import GroupLevel, Invitation, LimitRule, User
from accounts.services import audit_record, invitation_create
from tests.admin.conftest import CANARY, Rows, browser, content_rows
from tools.models import ToolRule

POLICY = {"tools_matrixcell", "tools_toolrule", "tools_toolswitch", "accounts_limitrule"}
LISTS = sorted(
    f"{model._meta.app_label}_{model._meta.model_name}" for model in admin.site._registry
)
CLAIMS = {"sub": "x", "note": CANARY}
# These stand for many rows on one page and have no page per row.
WHOLE = {"tools_matrixcell", "tools_toolswitch"}
OTHER = ("index", "tools_explain")


def address(name: str) -> str:
    return reverse(f"admin:{name if name in OTHER else f'{name}_changelist'}")


def fill(number: int) -> None:
    """A row of each kind in every list, for a person of their own."""
    user = User.objects.create_user(f"p{number}@example.com", level="" if number else "auto")
    group = Group.objects.create(name=f"team {number}")
    GroupLevel.objects.create(group=group, level="auto")
    user.groups.add(group)
    content_rows(user)
    LimitRule.objects.create(scope="user", user=user, action="message", amount=5, seconds=60)
    LimitRule.objects.create(scope="group", group=group, action="cost", amount=5, seconds=60)
    ToolRule.objects.create(scope="user", user=user, tool="shell", outcome="deny")
    ToolRule.objects.create(scope="group", group=group, tool="read_*", outcome="auto")
    invitation_create(email=f"new{number}@example.com", actor=user)
    EmailAddress.objects.create(user=user, email=user.email)
    Authenticator.objects.create(user=user, type="totp", data={"secret": CANARY})
    SocialAccount.objects.create(user=user, provider="oidc", uid=f"u{number}", extra_data=CLAIMS)
    audit_record("user.changed", actor=user, target=user.email, data={"name": {"to": "x"}})


def test_the_lists_are_the_ones_that_people_need() -> None:
    assert set(LISTS) == {
        "account_emailaddress", "accounts_apitoken", "accounts_auditentry", "accounts_invitation",
        "accounts_limitrule", "accounts_user", "agents_run", "auth_group", "memory_message",
        "memory_session", "mfa_authenticator", "socialaccount_socialaccount", "tools_approval",
        "tools_grant", "tools_matrixcell", "tools_toolcall", "tools_toolrule", "tools_toolswitch",
    }  # fmt: skip


@pytest.mark.parametrize("name", [*LISTS, *OTHER])
def test_every_page_opens_for_a_superuser(name: str, root: Client, rows: Rows) -> None:
    fill(1)
    response = root.get(address(name))
    assert response.status_code == 200
    assert "<script>" not in response.text


@pytest.mark.parametrize("name", [*LISTS, *OTHER])
def test_strangers_are_sent_to_the_portals_own_login(name: str, db: None) -> None:
    response = browser().get(address(name))
    assert response.status_code == 302
    seen = browser().get(response["Location"])
    login = seen["Location"] if seen.status_code == 302 else response["Location"]
    assert login.startswith(reverse("account_login"))


@pytest.mark.parametrize("name", [*LISTS, *OTHER])
def test_ordinary_users_are_refused(name: str, carol: Any) -> None:
    response = browser(carol).get(address(name), follow=True)
    assert response.status_code == 403
    assert "nav-sidebar" not in response.text


@pytest.mark.parametrize("name", [*LISTS, *OTHER])
def test_the_policy_is_for_superusers_only(name: str, staff: Client) -> None:
    refused = name in POLICY or name == "tools_explain"
    assert staff.get(address(name)).status_code == (403 if refused else 200)


@pytest.mark.parametrize("name", sorted(set(LISTS) - WHOLE))
def test_plain_administrators_change_nothing(name: str, staff: Client, rows: Rows) -> None:
    fill(1)
    model = next(
        model for model in admin.site._registry
        if f"{model._meta.app_label}_{model._meta.model_name}" == name
    )  # fmt: skip
    row = model._default_manager.order_by("pk").first()
    assert row is not None
    assert staff.get(reverse(f"admin:{name}_change", args=[row.pk])).status_code == (
        403 if name in POLICY else 200
    )
    assert staff.get(reverse(f"admin:{name}_add")).status_code == 403
    assert staff.post(reverse(f"admin:{name}_delete", args=[row.pk])).status_code == 403
    assert staff.post(reverse(f"admin:{name}_change", args=[row.pk]), {}).status_code == 403
    assert model._default_manager.filter(pk=row.pk).exists()


@pytest.mark.parametrize("name", [*LISTS, "index"])
def test_the_number_of_queries_does_not_grow_with_the_rows(name: str, root: Client) -> None:
    counts = []
    for numbers in (range(2), range(2, 6)):
        for number in numbers:
            fill(number)
        root.get(address(name))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert root.get(address(name)).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert counts[1] <= 20


@pytest.mark.parametrize("name", sorted(set(LISTS) - WHOLE))
def test_every_list_is_searched(name: str, root: Client, rows: Rows) -> None:
    fill(1)
    assert root.get(address(name), {"q": "p1@example.com"}).status_code == 200
    assert root.get(address(name), {"q": str(rows.session.pk)}).status_code == 200


@pytest.mark.parametrize(
    "name", ["agents_run", "memory_message", "memory_session", "tools_approval", "tools_grant",
             "tools_toolcall"]
)  # fmt: skip
def test_an_id_finds_its_rows(name: str, root: Client, rows: Rows, carol: Any) -> None:
    other = content_rows(carol)
    found = root.get(address(name), {"q": str(rows.session.pk)}).text
    assert rows.session.user.email in found
    assert other.session.user.email not in found


CONTENT = {
    "memory_session": ("session", ("title", "summary")),
    "memory_message": ("message", ("text", "reasoning")),
    "agents_run": ("run", ("error_message",)),
    "tools_toolcall": ("call", ("result",)),
    "tools_approval": ("approval", ("command", "reason")),
    "tools_grant": ("grant", ("shown",)),
}


@pytest.mark.parametrize("name", CONTENT)
def test_what_people_wrote_is_not_shown(name: str, root: Client, rows: Rows) -> None:
    row = getattr(rows, CONTENT[name][0])
    for page in (
        root.get(address(name)),
        root.get(reverse(f"admin:{name}_change", args=[row.pk])),
        root.get(reverse(f"admin:{name}_history", args=[row.pk])),
    ):
        assert page.status_code == 200
        assert rows.session.user.email in page.text or "history" in page.request["PATH_INFO"]
        assert CANARY not in page.text


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, (_, fields) in CONTENT.items() for field in fields]
)
def test_what_people_wrote_cannot_be_guessed_by_filters(
    name: str, field: str, root: Client, rows: Rows
) -> None:
    for lookup in (field, f"{field}__startswith", f"{field}__icontains"):
        assert root.get(address(name), {lookup: CANARY}).status_code == 400
    assert rows.session.user.email not in root.get(address(name), {"q": CANARY}).text


@pytest.mark.parametrize(
    ("name", "lookup"),
    [
        ("accounts_user", "password__startswith"),
        ("accounts_apitoken", "digest__startswith"),
        ("accounts_apitoken", "user__password__startswith"),
        ("accounts_invitation", "digest__startswith"),
        ("auth_group", "user__password__startswith"),
        ("mfa_authenticator", "data__icontains"),
        ("memory_session", "messages__text__icontains"),
        ("agents_run", "message__text__icontains"),
    ],
)
def test_secrets_cannot_be_guessed_by_filters(name: str, lookup: str, root: Client) -> None:
    assert root.get(address(name), {lookup: "a"}).status_code == 400


def test_deleting_a_grant_shows_no_content_and_is_audited(root: Client, rows: Rows) -> None:
    from accounts.models import AuditEntry

    url = reverse("admin:tools_grant_delete", args=[rows.grant.pk])
    assert CANARY not in root.get(url).text
    root.post(url, {"post": "yes"})
    entry = AuditEntry.objects.get(action="grant.deleted")
    assert (entry.actor, entry.via) == ("admin@example.com", "admin")
    assert CANARY not in f"{entry.target} {entry.data}"


def test_second_factors_are_removed_without_showing_their_secret(root: Client, alice: Any) -> None:
    factor = Authenticator.objects.create(user=alice, type="totp", data={"secret": CANARY})
    url = reverse("admin:mfa_authenticator_change", args=[factor.pk])
    assert CANARY not in root.get(url).text
    root.post(reverse("admin:mfa_authenticator_delete", args=[factor.pk]), {"post": "yes"})
    assert not Authenticator.objects.exists()


def test_there_is_no_page_that_deletes_a_user(root: Client, alice: Any) -> None:
    url = reverse("admin:accounts_user_delete", args=[alice.pk])
    assert root.post(url, {"post": "yes"}).status_code == 403
    assert User.objects.filter(pk=alice.pk).exists()
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("name", sorted(set(LISTS) - WHOLE))
def test_every_filter_and_order_of_a_list_works(name: str, root: Client, rows: Rows) -> None:
    fill(1)
    shown = root.get(address(name)).context["cl"]
    queries = {
        choice["query_string"]
        for spec in shown.filter_specs
        for choice in spec.choices(shown)
        if choice.get("query_string")
    }
    assert queries or not shown.filter_specs
    columns = range(1, len(shown.list_display) + 1)
    for query in queries | {f"?o={column}" for column in columns}:
        assert root.get(f"{address(name)}{query}").status_code == 200, query
