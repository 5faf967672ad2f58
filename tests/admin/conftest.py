"""Browsers of an administrator, and rows of other people whose content is a canary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.services import token_create
from agents.models import Run
from hermes_site.lib import clock
from memory.models import Message, Session
from tools.models import Approval, Grant, ToolCall

# Stands wherever a person's words could be; no page may show it.
CANARY = "canary-qx7"


@dataclass
class Rows:
    """One of each thing that ``content_rows`` makes."""

    session: Session
    message: Message
    run: Run
    call: ToolCall
    approval: Approval
    grant: Grant
    token: Any


def content_rows(user: Any) -> Rows:
    """A session of ``user`` with a message, a run, a call, an approval and a grant."""
    said = f"{CANARY} {uuid4()}"
    session = Session.objects.create(user=user, title=said, summary=said, tags=[said])
    message = Message.objects.create(
        user=user, session=session, role="user", text=said, reasoning=said, position=1
    )
    run = Run.objects.create(
        user=user, session=session, message=message, number=1, error_message=said,
        options={"text": said}, state="failed", error_code="auth", finished_at=clock.now(),
    )  # fmt: skip
    call = ToolCall.objects.create(
        user=user, session=session, message=message, run_id=run.pk, index=0, provider_id="c0",
        name="shell", arguments={"command": said}, digest="d" * 64, category="system",
        outcome="confirm", why="Level auto.", result=said, state="waiting",
        trace=[["matrix", "confirm", "Level auto."]],
    )  # fmt: skip
    approval = Approval.objects.create(
        user=user, session=session, tool_call=call, run_id=run.pk, tool="shell",
        category="system", arguments={"command": said}, command=said, digest="d" * 64,
        reason=said, expires_at=clock.in_seconds(60),
    )  # fmt: skip
    grant = Grant.objects.create(
        user=user, session=session, tool="shell", digest="d" * 64, shown=said
    )
    token, _ = token_create(user, name="laptop")
    return Rows(session, message, run, call, approval, grant, token)


def browser(user: Any = None) -> Client:
    """A browser that checks CSRF as real ones are checked, logged in as ``user``."""
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


@pytest.fixture(autouse=True)
def quick_passwords(settings: Any) -> None:
    """The portal's slow hash would be most of what these tests do."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def root(admin_user: Any) -> Client:
    """The superuser's browser."""
    return browser(admin_user)


@pytest.fixture
def staff_user(bob: Any) -> Any:
    """An administrator who looks, and changes nothing."""
    bob.is_staff = True
    bob.save()
    return bob


@pytest.fixture
def staff(staff_user: Any) -> Client:
    return browser(staff_user)


@pytest.fixture
def rows(alice: Any) -> Rows:
    return content_rows(alice)
