"""The level of a user: where it comes from, who may set it, and what a change leaves behind."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from accounts.choices import Level
from accounts.models import AuditEntry, GroupLevel, User
from accounts.selectors.level import EffectiveLevel, level_of
from accounts.services import audit_verify, token_create, user_create, user_set_level
from hermes_site.lib.errors import UserFacing

pytestmark = pytest.mark.django_db


def group(name: str, level: str = "") -> Group:
    made = Group.objects.create(name=name)
    if level:
        GroupLevel.objects.create(group=made, level=level)
    return made


def changes() -> list[tuple[str, str, dict[str, Any]]]:
    """Actor, target and data of each change of a level, oldest first."""
    entries = AuditEntry.objects.filter(action="user.level").order_by("id")
    return list(entries.values_list("actor", "target", "data"))


@pytest.mark.parametrize(
    ("own", "groups", "level", "source"),
    [
        ("", [], "safe", "default"),
        ("", [""], "safe", "default"),
        ("", ["auto"], "auto", "group g0"),
        ("", ["safe", "full-access", "auto"], "full-access", "group g1"),
        ("", ["", "auto", "safe"], "auto", "group g1"),
        ("", ["no-such-level"], "safe", "default"),
        ("", ["no-such-level", "auto"], "auto", "group g1"),
        ("auto", [], "auto", "own"),
        ("safe", ["full-access"], "safe", "own"),
        ("full-access", ["safe"], "full-access", "own"),
        ("root", ["full-access"], "safe", "own"),
    ],
)
def test_own_level_then_the_highest_group_then_safe(
    own: str, groups: list[str], level: str, source: str
) -> None:
    dora = User.objects.create_user("dora@example.com", None, level=own)
    for number, of_group in enumerate(groups):
        dora.groups.add(group(f"g{number}", of_group))
    assert level_of(dora) == EffectiveLevel(level, source)


def test_a_group_gives_nothing_to_those_who_are_not_in_it(bob: Any) -> None:
    group("Ops", "full-access")
    user_set_level(bob, "", actor="test")
    assert level_of(bob).level == "safe"


def test_leaving_the_group_takes_its_level_at_once() -> None:
    dora = User.objects.create_user("dora@example.com", None)
    ops = group("Ops", "full-access")
    dora.groups.add(ops)
    assert level_of(dora).level == "full-access"
    GroupLevel.objects.update(level="auto")
    assert level_of(dora).level == "auto"
    dora.groups.remove(ops)
    assert level_of(dora) == EffectiveLevel("safe", "default")


@pytest.mark.parametrize("level", [*Level.values, ""])
def test_a_change_is_kept_with_old_and_new(alice: Any, admin_user: Any, level: str) -> None:
    user_set_level(alice, level, actor=admin_user)
    assert User.objects.get(pk=alice.pk).level == level
    (change,) = changes()
    assert change == ("admin@example.com", "alice@example.com", {"from": "auto", "to": level})
    assert audit_verify() is None


def test_the_entry_names_what_the_row_had(alice: Any) -> None:
    stale = User.objects.get(pk=alice.pk)
    user_set_level(alice, "safe", actor="test")
    user_set_level(stale, "full-access", actor="test")
    assert [data for _, _, data in changes()] == [
        {"from": "auto", "to": "safe"},
        {"from": "safe", "to": "full-access"},
    ]


@pytest.mark.parametrize("level", ["root", "AUTO", "full", "auto "])
def test_an_unknown_level_is_refused_and_not_recorded(alice: Any, level: str) -> None:
    with pytest.raises(UserFacing, match="safe, auto, full-access"):
        user_set_level(alice, level, actor="test")
    with pytest.raises(UserFacing, match="safe, auto, full-access"):
        user_create(email="dora@example.com", level=level)
    alice.refresh_from_db()
    assert alice.level == "auto"
    assert not AuditEntry.objects.exists()


def test_a_new_users_level_is_in_the_trail(admin_user: Any) -> None:
    user_create(email="dora@example.com", level="auto", actor=admin_user)
    entry = AuditEntry.objects.get(action="user.created")
    assert (entry.actor, entry.target) == ("admin@example.com", "dora@example.com")
    assert entry.data == {"level": "auto", "admin": False}


@pytest.mark.parametrize("who", ["nobody", "self", "stranger", "staff", "superuser"])
def test_only_a_superuser_sets_a_level(
    who: str, alice: Any, bob: Any, carol: Any, admin_user: Any
) -> None:
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    browser = Client()
    people = {"self": alice, "stranger": carol, "staff": bob, "superuser": admin_user}
    if who in people:
        browser.force_login(people[who])
    url = reverse("admin:accounts_user_change", args=[alice.pk])
    sent = {"name": "Alice", "timezone": "UTC", "level": "full-access", "is_active": "on"}
    answer = browser.post(url, sent)
    alice.refresh_from_db()
    if who == "superuser":
        assert alice.level == "full-access"
        assert [actor for actor, _, _ in changes()] == ["admin@example.com"]
    else:
        assert answer.status_code in (302, 403)
        assert (alice.level, changes()) == ("auto", [])


@pytest.mark.parametrize("who", ["self", "staff", "superuser"])
def test_only_a_superuser_sets_a_groups_level(
    who: str, alice: Any, bob: Any, admin_user: Any
) -> None:
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    ops = group("Ops", "safe")
    browser = Client()
    browser.force_login({"self": alice, "staff": bob, "superuser": admin_user}[who])
    sent = {"name": "Ops", "level-TOTAL_FORMS": "1", "level-INITIAL_FORMS": "1"}
    row = {"id": GroupLevel.objects.get().pk, "group": ops.pk, "level": "full-access"}
    sent |= {f"level-0-{name}": str(value) for name, value in row.items()}
    browser.post(reverse("admin:auth_group_change", args=[ops.pk]), sent)
    entries = AuditEntry.objects.filter(action="grouplevel.changed").values_list("actor", "data")
    if who == "superuser":
        told = ("admin@example.com", {"level": {"from": "safe", "to": "full-access"}})
        assert list(entries) == [told]
    assert GroupLevel.objects.get().level == ("full-access" if who == "superuser" else "safe")
    assert entries.count() == (who == "superuser")


def test_nobody_raises_their_own_at_the_other_doors(alice: Any, valkey: Any) -> None:
    wanted = {"level": "full-access", "is_superuser": "on", "groups": "1"}
    browser = Client()
    browser.force_login(alice)
    profile = {"name": "Alicia", "language": "", "timezone": "UTC", **wanted}
    assert browser.post(reverse("settings-profile"), profile).status_code == 302
    api = APIClient(HTTP_AUTHORIZATION=f"Bearer {token_create(alice)[1]}")
    for verb in (api.post, api.put, api.patch):
        assert verb("/api/v1/me", wanted, format="json").status_code == 405
    alice.refresh_from_db()
    assert (alice.name, alice.level, alice.is_superuser) == ("Alicia", "auto", False)
    assert changes() == []
