"""Users, groups, invitations, tokens and limits: what a change does, and what it leaves behind."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core import mail
from django.test import Client
from django.urls import reverse

from accounts.models import ApiToken, AuditEntry, GroupLevel, Invitation, LimitRule, User
from accounts.selectors.level import level_of
from accounts.services import token_authenticate, token_create
from accounts.services.invitation import invitation_find
from tests.admin.conftest import browser

NEW_PASSWORD = "staple battery horse"


def form_of(user: Any, **changes: Any) -> dict[str, Any]:
    """The fields of the user's page as a browser would send them."""
    fields = {
        "name": user.name, "language": user.language, "timezone": user.timezone,
        "level": user.level, "groups": [group.pk for group in user.groups.all()],
        "is_active": user.is_active, "is_staff": user.is_staff, "is_superuser": user.is_superuser,
        **changes,
    }  # fmt: skip
    return {name: "on" if value is True else value for name, value in fields.items() if value}


def change(client: Client, user: Any, **changes: Any) -> Any:
    url = reverse("admin:accounts_user_change", args=[user.pk])
    response = client.post(url, form_of(user, **changes))
    user.refresh_from_db()
    return response


def entries(action: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(action=action).order_by("id"))


def test_a_change_of_level_is_audited_and_bites(root: Client, alice: Any) -> None:
    assert change(root, alice, level="safe").status_code == 302
    assert level_of(alice).level == "safe"
    (entry,) = entries("user.level")
    assert (entry.actor, entry.target) == ("admin@example.com", "alice@example.com")
    assert entry.data == {"from": "auto", "to": "safe"}
    assert entries("user.changed") == []


def test_what_else_changed_is_one_entry_with_old_and_new(root: Client, alice: Any) -> None:
    group = Group.objects.create(name="Ops")
    change(root, alice, name="Alicia", groups=[group.pk])
    (entry,) = entries("user.changed")
    assert entry.data == {
        "name": {"from": "Alice", "to": "Alicia"},
        "groups": {"from": [], "to": ["Ops"]},
    }
    assert entry.via == "admin"
    assert list(alice.groups.all()) == [group]


def test_saving_without_a_change_leaves_no_entry(root: Client, alice: Any) -> None:
    change(root, alice)
    assert not AuditEntry.objects.filter(action__startswith="user.").exists()


def test_disabling_ends_the_browser_and_the_tokens(
    root: Client, alice: Any, valkey: Any, django_capture_on_commit_callbacks: Any
) -> None:
    theirs, (_, secret) = browser(alice), token_create(alice)
    assert theirs.get(reverse("account_email")).status_code == 200
    with django_capture_on_commit_callbacks(execute=True):
        change(root, alice, is_active=False)
    assert theirs.get(reverse("account_email")).status_code == 302
    assert token_authenticate(secret) is None
    assert [entry.target for entry in entries("user.disabled")] == [alice.email]


def test_several_are_disabled_and_enabled_from_the_list(
    root: Client, alice: Any, carol: Any, admin_user: Any
) -> None:
    url = reverse("admin:accounts_user_changelist")
    chosen = [str(user.pk) for user in (alice, carol, admin_user)]
    root.post(url, {"action": "disable", "_selected_action": chosen})
    states = dict(User.objects.values_list("email", "is_active"))
    assert states == {alice.email: False, carol.email: False, admin_user.email: True}
    root.post(url, {"action": "enable", "_selected_action": chosen})
    assert User.objects.filter(is_active=False).count() == 0
    assert len(entries("user.disabled")) == len(entries("user.enabled")) == 2


@pytest.mark.parametrize("field", ["is_active", "is_staff", "is_superuser"])
def test_nobody_takes_their_own_rights(field: str, root: Client, admin_user: Any) -> None:
    response = change(root, admin_user, **{field: False})
    assert response.status_code == 200
    assert "You cannot take this from yourself." in response.text
    assert getattr(admin_user, field) is True


def test_an_unknown_time_zone_is_refused(root: Client, alice: Any) -> None:
    assert change(root, alice, timezone="Mars/Olympus").status_code == 200
    assert alice.timezone == "UTC"


def test_a_user_is_made_by_address(root: Client) -> None:
    group = Group.objects.create(name="Ops")
    asked = {
        "email": "Dora@Example.com", "name": "Dora", "password": NEW_PASSWORD, "level": "auto",
        "groups": [group.pk],
    }  # fmt: skip
    assert root.post(reverse("admin:accounts_user_add"), asked).status_code == 302
    dora = User.objects.get(email="dora@example.com")
    assert (dora.level, dora.is_staff, list(dora.groups.all())) == ("auto", False, [group])
    assert dora.check_password(NEW_PASSWORD)
    (entry,) = entries("user.created")
    assert (entry.actor, entry.target) == ("admin@example.com", "dora@example.com")
    assert NEW_PASSWORD not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"email": "ALICE@example.com"}, "already a user"),
        ({"email": "new@example.com", "password": "12345"}, "too short"),
        ({"email": "nonsense"}, "valid email"),
    ],
)
def test_a_bad_new_user_is_explained(
    fields: dict[str, str], words: str, root: Client, alice: Any
) -> None:
    response = root.post(reverse("admin:accounts_user_add"), {"name": "", **fields})
    assert response.status_code == 200
    assert words in response.text
    assert entries("user.created") == []


def test_a_password_is_set_and_audited_without_it(root: Client, alice: Any) -> None:
    url = reverse("admin:auth_user_password_change", args=[alice.pk])
    assert root.get(url).status_code == 200
    assert root.post(url, {"password1": NEW_PASSWORD, "password2": "other"}).status_code == 200
    assert entries("user.password") == []
    answer = root.post(url, {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
    assert answer.status_code == 302
    alice.refresh_from_db()
    assert alice.check_password(NEW_PASSWORD)
    (entry,) = entries("user.password")
    assert (entry.target, entry.data) == (alice.email, {})


def test_plain_administrators_set_no_passwords(staff: Client, alice: Any) -> None:
    url = reverse("admin:auth_user_password_change", args=[alice.pk])
    asked = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert staff.post(url, asked).status_code == 403
    alice.refresh_from_db()
    assert not alice.check_password(NEW_PASSWORD)


def inline(group: Any = None, **fields: str) -> dict[str, str]:
    row = getattr(group, "level", None)
    start = {"level-0-id": str(row.pk), "level-0-group": str(group.pk)} if row else {}
    count = "1" if row else "0"
    return {
        "level-TOTAL_FORMS": "1", "level-INITIAL_FORMS": count, **start,
        **{f"level-0-{name}": value for name, value in fields.items()},
    }  # fmt: skip


def test_a_group_and_its_level_are_audited(root: Client, alice: Any) -> None:
    root.post(reverse("admin:auth_group_add"), {"name": "Ops", **inline(level="auto")})
    group = Group.objects.get(name="Ops")
    assert GroupLevel.objects.get().level == "auto"
    url = reverse("admin:auth_group_change", args=[group.pk])
    root.post(url, {"name": "Ops", **inline(group, level="full-access")})
    (entry,) = entries("grouplevel.changed")
    assert entry.data == {"level": {"from": "auto", "to": "full-access"}}
    alice.groups.add(group)
    alice.level = ""
    assert level_of(alice).level == "full-access"
    root.post(reverse("admin:auth_group_delete", args=[group.pk]), {"post": "yes"})
    (entry,) = entries("group.deleted")
    assert entry.target == "Ops"
    assert entry.data["rows"]["accounts.GroupLevel"] == 1
    assert level_of(alice).level == "safe"


def test_several_rows_deleted_at_once_are_audited_each(root: Client) -> None:
    groups = [Group.objects.create(name=name) for name in ("one", "two")]
    chosen = {"action": "delete_selected", "_selected_action": [group.pk for group in groups]}
    root.post(reverse("admin:auth_group_changelist"), {**chosen, "post": "yes"})
    assert not Group.objects.exists()
    assert [entry.target for entry in entries("group.deleted")] == ["one", "two"]


def invite(client: Client, email: str) -> Any:
    return client.post(reverse("admin:accounts_invitation_add"), {"email": email, "level": "auto"})


def test_an_invitation_shows_its_link_once_and_mails_it(root: Client) -> None:
    response = invite(root, "new@example.com")
    code = re.search(r"/invite/([\w-]+)/", response.text).group(1)  # type: ignore[union-attr]
    invitation = invitation_find(code)
    assert invitation is not None
    assert (invitation.email, invitation.level) == ("new@example.com", "auto")
    (letter,) = mail.outbox
    assert (letter.to, code in letter.body) == (["new@example.com"], True)
    for page in ("changelist", "change"):
        args = [invitation.pk] if page == "change" else []
        shown = root.get(reverse(f"admin:accounts_invitation_{page}", args=args))
        assert "new@example.com" in shown.text
        assert code not in shown.text
    assert code not in str(list(AuditEntry.objects.values()))
    assert browser().get(f"/invite/{code}/")["Location"] == reverse("account_signup")


def test_without_mail_the_page_says_so(root: Client, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert "Mail is not configured" in invite(root, "new@example.com").text


def test_an_invitation_survives_a_mail_server_that_is_away(root: Client, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    response = invite(root, "new@example.com")
    assert response.status_code == 200
    assert "/invite/" in response.text
    assert "could not be sent" in response.text
    assert "on its way" not in response.text


def test_somebody_who_is_here_is_not_invited(root: Client, alice: Any) -> None:
    response = root.post(
        reverse("admin:accounts_invitation_add"), {"email": alice.email}, follow=True
    )
    assert "There is already a user" in response.text
    assert not Invitation.objects.exists()


def test_tokens_are_revoked_and_not_made(root: Client, alice: Any) -> None:
    token, secret = token_create(alice, name="laptop")
    assert root.get(reverse("admin:accounts_apitoken_add")).status_code == 403
    chosen = {"action": "revoke", "_selected_action": [str(token.pk)]}
    root.post(reverse("admin:accounts_apitoken_changelist"), chosen)
    assert token_authenticate(secret) is None
    (entry,) = entries("token.revoked")
    assert (entry.actor, entry.via) == ("admin@example.com", "admin")
    page = root.get(reverse("admin:accounts_apitoken_change", args=[token.pk])).text
    assert ApiToken.objects.get().digest not in page


def test_plain_administrators_revoke_no_tokens(staff: Client, alice: Any) -> None:
    token, secret = token_create(alice)
    chosen = {"action": "revoke", "_selected_action": [str(token.pk)]}
    staff.post(reverse("admin:accounts_apitoken_changelist"), chosen)
    assert token_authenticate(secret) is not None


def limit(client: Client, **fields: Any) -> Any:
    asked = {"scope": "everyone", "action": "message", "amount": "5", "seconds": "60", **fields}
    return client.post(reverse("admin:accounts_limitrule_add"), asked)


def test_a_limit_is_set_and_audited(root: Client, alice: Any) -> None:
    response = limit(root, scope="user", user=str(alice.pk))
    assert response.status_code == 302
    (entry,) = entries("limit.created")
    assert entry.target == "user:alice@example.com message 5/60s"
    assert entry.data["user"] == {"from": None, "to": "alice@example.com"}
    rule = LimitRule.objects.get(scope="user")
    url = reverse("admin:accounts_limitrule_change", args=[rule.pk])
    root.post(url, {"scope": "user", "user": str(alice.pk), "action": "message", "amount": "7",
                    "seconds": "60"})  # fmt: skip
    (entry,) = entries("limit.changed")
    assert set(entry.data) == {"amount"}
    assert (float(entry.data["amount"]["from"]), float(entry.data["amount"]["to"])) == (5, 7)


@pytest.mark.parametrize(
    "fields",
    [
        {"scope": "user"},
        {"scope": "group"},
        {"amount": "-1"},
        {"seconds": "0"},
        {"action": "breathing"},
        {"amount": "10", "seconds": "60"},
        {"amount": "500", "seconds": "30"},
    ],
    ids=["no user", "no group", "negative", "no time", "unknown", "twice", "never reached"],
)
def test_a_limit_that_makes_no_sense_is_refused(fields: dict[str, str], root: Client) -> None:
    before = LimitRule.objects.count()
    assert limit(root, **fields).status_code == 200
    assert LimitRule.objects.count() == before
    assert entries("limit.created") == []


def test_what_is_left_is_shown(root: Client, alice: Any, valkey: Any) -> None:
    from accounts.services import limit_take

    limit(root, scope="user", user=str(alice.pk), amount="8")
    limit_take(alice, "message", amount=3)
    response = root.get(reverse("admin:accounts_limitrule_changelist"), {"scope__exact": "user"})
    (rule,) = response.context["cl"].result_list
    assert rule.used == 3
    page = root.get(reverse("admin:accounts_user_change", args=[alice.pk])).text
    assert "5 of 8" in page
