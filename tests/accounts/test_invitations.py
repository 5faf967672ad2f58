"""An invitation lets one person in, once, in time, by its own address."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from allauth.core.context import request_context
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import Group
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.adapter import CODE
from accounts.models import AuditEntry, Invitation, User
from accounts.services import invitation_accept, invitation_create
from accounts.services.invitation import LIFETIME, invitation_find
from hermes_site.lib import clock
from hermes_site.lib.errors import UserFacing
from tests.gateway.api.test_approvals import at_once

DORA = "dora@example.com"
PASSWORD = "staple battery horse"


def sign_up(browser: Client, email: str = DORA, **more: str) -> Any:
    sent = {"email": email, "password1": PASSWORD, "password2": PASSWORD, **more}
    return browser.post(reverse("account_signup"), sent)


def by_link(code: str) -> Client:
    """A browser that has opened the link of an invitation."""
    browser = Client()
    assert browser.get(reverse("invite", args=[code])).status_code == 302
    return browser


def single_sign_on(code: str, email: str) -> None:
    """What happens when an identity provider vouches for somebody who had opened the link."""
    request = RequestFactory().get("/")
    for middleware in (SessionMiddleware, AuthenticationMiddleware, MessageMiddleware):
        middleware(lambda request: None).process_request(request)  # type: ignore[arg-type]
    request.session[CODE] = code
    provider = get_adapter(request).get_provider(request, "oidc")
    claims = {"sub": "1", "email": email, "email_verified": True}
    login = provider.sociallogin_from_response(request, {"id_token": claims})
    with request_context(request):
        complete_social_login(request, login)


@pytest.fixture(autouse=True)
def rules(settings: Any) -> None:
    settings.HERMES_SIGNUP = "invite"
    app = {"provider_id": "oidc", "name": "Sign-on", "client_id": "x", "secret": "x"}
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}


@pytest.fixture
def code(admin_user: Any) -> str:
    """Of an invitation for Dora, to level auto and the group Ops."""
    ops = Group.objects.create(name="Ops")
    return invitation_create(
        email=" Dora@Example.com", actor=admin_user, level="auto", groups=[ops]
    )[1]


def test_the_level_and_groups_it_names_are_given(code: str) -> None:
    assert sign_up(by_link(code), level="full-access", is_staff="on").status_code == 302
    dora = User.objects.get(email=DORA)
    assert (dora.level, dora.is_staff, dora.is_superuser) == ("auto", False, False)
    assert [group.name for group in dora.groups.all()] == ["Ops"]
    invitation = Invitation.objects.get()
    assert invitation.accepted_at is not None
    entry = AuditEntry.objects.get(action="invitation.accepted")
    assert (entry.actor, entry.target) == (DORA, str(invitation.pk))


@pytest.mark.django_db
def test_only_a_hash_of_the_code_is_kept(code: str) -> None:
    assert code not in str(list(Invitation.objects.values()) + list(AuditEntry.objects.values()))
    assert Invitation.objects.get().email == DORA


def test_it_is_used_once(code: str) -> None:
    late = by_link(code)
    sign_up(by_link(code))
    User.objects.filter(email=DORA).delete()
    assert invitation_find(code) is None
    assert Client().get(reverse("invite", args=[code])).status_code == 404
    sign_up(late)
    assert not User.objects.filter(email=DORA).exists()


@pytest.mark.rows
@pytest.mark.parametrize("trial", range(3))
def test_of_several_at_once_one_wins(own_database: None, trial: int) -> None:
    code = invitation_create(email=DORA, actor="test", level="auto")[1]
    dora = User.objects.create_user(DORA, None)
    won = at_once(8, lambda i: invitation_accept(code, User.objects.get(pk=dora.pk)))
    assert sorted(won) == [False] * 7 + [True]
    dora.refresh_from_db()
    assert dora.level == "auto"
    assert AuditEntry.objects.filter(action="invitation.accepted").count() == 1


def test_it_ends_after_a_week(code: str) -> None:
    dora = User.objects.create_user(DORA, None)
    in_time, late = by_link(code), clock.now() + LIFETIME
    with time_machine.travel(late - timedelta(seconds=30), tick=False):
        assert invitation_find(code) is not None
    with time_machine.travel(late + timedelta(seconds=1), tick=False):
        assert Client().get(reverse("invite", args=[code])).status_code == 404
        assert invitation_accept(code, dora) is False
        dora.delete()
        sign_up(in_time)
    assert not User.objects.filter(email=DORA).exists()
    assert Invitation.objects.get().accepted_at is None


@pytest.mark.parametrize("email", ["mallory@example.com", "dora@example.com.evil.example"])
def test_it_is_bound_to_its_address(code: str, email: str) -> None:
    browser = by_link(code)
    assert sign_up(browser, email).status_code == 200
    mallory = User.objects.create_user(email, None)
    assert invitation_accept(code, mallory) is False
    assert (mallory.level, mallory.groups.count()) == ("", 0)
    # It is not used up by the attempt, and the case of the address does not matter.
    assert sign_up(browser, "DORA@example.com").status_code == 302
    assert User.objects.get(email=DORA).level == "auto"


def test_single_sign_on_by_the_invited_address_uses_it(code: str) -> None:
    single_sign_on(code, "Dora@example.com")
    dora = User.objects.get(email=DORA)
    assert (dora.level, [group.name for group in dora.groups.all()]) == ("auto", ["Ops"])
    assert invitation_find(code) is None


def test_single_sign_on_by_another_address_is_no_way_in(code: str) -> None:
    single_sign_on(code, "mallory@example.com")
    assert set(User.objects.values_list("email", flat=True)) == {"admin@example.com"}
    assert invitation_find(code) is not None


def test_a_new_invitation_voids_the_one_before(code: str, admin_user: Any) -> None:
    newer = invitation_create(email=DORA, actor=admin_user, level="safe")[1]
    assert invitation_find(code) is None
    sign_up(by_link(newer))
    assert User.objects.get(email=DORA).level == "safe"


@pytest.mark.django_db
@pytest.mark.parametrize("rule", ["closed", "invite"])
def test_nobody_comes_in_without_one(settings: Any, rule: str) -> None:
    settings.HERMES_SIGNUP = rule
    sign_up(Client())
    single_sign_on("", DORA)
    assert not User.objects.exists()


def test_an_unknown_level_is_not_given(admin_user: Any) -> None:
    with pytest.raises(UserFacing, match="safe, auto, full-access"):
        invitation_create(email=DORA, actor=admin_user, level="root")
    assert not Invitation.objects.exists()
