"""``create_user``, ``create_token``, ``limit`` and ``rule``."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.models import ApiToken, AuditEntry, LimitRule, User
from accounts.services import token_authenticate
from tools.models import ToolRule

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_a_user_is_made() -> None:
    run("create_user", "Anna@Example.com", "--password", "correct horse battery", "--level", "auto")
    anna = User.objects.get()
    assert (anna.email, anna.level, anna.is_staff) == ("anna@example.com", "auto", False)
    assert anna.check_password("correct horse battery")
    run("create_user", "root@example.com", "--admin", "--name", "Root")
    root = User.objects.get(email="root@example.com")
    assert (root.is_superuser, root.is_staff, root.name) == (True, True, "Root")
    assert not root.has_usable_password()
    told = AuditEntry.objects.values_list("action", "actor", "target")
    assert ("user.created", "command line", "anna@example.com") in list(told)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nonsense"], "nonsense"),
        (["a@example.com", "--password", "short"], "too short"),
        (["a@example.com", "--level", "root"], "safe, auto, full-access"),
        (["alice@example.com"], "already"),
    ],
)
def test_a_bad_user_is_refused_with_the_reason(alice: Any, arguments: list[str], word: str) -> None:
    with pytest.raises(CommandError, match=word):
        run("create_user", *arguments)
    assert User.objects.count() == 1


def test_a_token_is_printed_and_nothing_else(alice: Any) -> None:
    secret = run("create_token", "Alice@Example.com").strip()
    found = token_authenticate(secret)
    assert found is not None
    assert (found[0], found[1].scopes) == (alice, ["read", "chat", "approve", "account"])
    narrow = run("create_token", "alice@example.com", "--scopes", "read,chat", "--days", "3")
    row = token_authenticate(narrow.strip())
    assert row is not None
    assert row[1].scopes == ["read", "chat"]
    assert (row[1].expires_at - row[1].created_at).days in (2, 3)
    spaced = run("create_token", "alice@example.com", "--scopes", "read", "approve")
    found = token_authenticate(spaced.strip())
    assert found is not None
    assert found[1].scopes == ["read", "approve"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nobody@example.com"], "no user"),
        (["alice@example.com", "--scopes", "root"], "Unknown scope 'root'"),
        (["alice@example.com", "--days", "0"], "out of range"),
        (["gone@example.com"], "disabled"),
    ],
)
def test_a_bad_token_is_refused(alice: Any, arguments: list[str], word: str) -> None:
    User.objects.create_user("gone@example.com", None, is_active=False)
    with pytest.raises(CommandError, match=word):
        run("create_token", *arguments)
    assert ApiToken.objects.count() == 0


def test_limits_are_set_and_replaced(alice: Any) -> None:
    Group.objects.create(name="Ops team")
    run("limit", "everyone", "message", "5/m")
    run("limit", "everyone", "message", "1000/m")
    run("limit", "group:Ops team", "cost", "2.50/d")
    run("limit", "user:alice@example.com", "tool_call", "3/10s")
    rules = LimitRule.objects.all()
    rows = {(rule.subject, rule.action, rule.seconds): float(rule.amount) for rule in rules}
    assert rows["everyone", "message", 60] == 1000
    assert rows["group:Ops team", "cost", 86400] == 2.5
    assert rows["user:alice@example.com", "tool_call", 10] == 3


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["somebody", "message", "1/m"], "somebody"),
        (["group:none", "message", "1/m"], "group:none"),
        (["user:x@example.com", "message", "1/m"], "nobody here"),
        (["everyone", "messages", "1/m"], "message, tool_call"),
        (["everyone", "message", "often"], "10/m"),
    ],
)
def test_a_bad_limit_is_refused(arguments: list[str], word: str) -> None:
    before = LimitRule.objects.count()
    with pytest.raises(CommandError, match=word):
        run("limit", *arguments)
    assert LimitRule.objects.count() == before


def test_rules_are_set_and_replaced(alice: Any) -> None:
    assert run("rule", "everyone", "shell", "deny").strip() == "everyone: shell deny"
    run("rule", "everyone", "shell", "confirm", "--note", "Ask first.")
    git = ["--argument", "command", "--matches", "git *"]
    run("rule", "user:alice@example.com", "shell", "auto", *git)
    rows = list(ToolRule.objects.order_by("id").values_list("scope", "outcome", "pattern", "note"))
    assert rows == [("everyone", "confirm", "", "Ask first."), ("user", "auto", "git *", "")]
    told = AuditEntry.objects.filter(action="rule.set").order_by("id").last()
    assert told is not None
    assert told.data == {
        "tool": "shell",
        "outcome": "auto",
        "argument": "command",
        "matches": "git *",
    }


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["everyone", "shell", "maybe"], "auto, confirm, deny"),
        (["everyone", "rm -rf", "deny"], "no name"),
        (["group:none", "shell", "deny"], "nobody here"),
        (["everyone", "shell", "auto", "--argument", "command"], "condition"),
    ],
)
def test_a_bad_rule_is_refused(arguments: list[str], word: str) -> None:
    with pytest.raises(CommandError, match=word):
        run("rule", *arguments)
    assert ToolRule.objects.count() == 0


def test_from_a_shell_only_the_token_is_on_stdout(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "HERMES_HOME": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path}/portal.db",
    }

    def manage(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    assert manage("migrate", "-v0").returncode == 0
    assert manage("create_user", "anna@example.com").returncode == 0
    made = manage("create_token", "anna@example.com")
    assert made.returncode == 0
    assert made.stdout.startswith("hp_")
    assert made.stdout.count("\n") == 1
