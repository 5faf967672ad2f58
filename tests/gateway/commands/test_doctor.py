"""``doctor`` finds what is broken and says how to mend it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from accounts.models import AuditEntry
from gateway import diagnosis
from hermes_site.lib.alive import KINDS, TTL
from hermes_site.lib.redis import PREFIX, client
from hermes_site.services.home_lock import HomeLock
from tools.backends.base import Health
from tools.registry import TOOLS

pytestmark = [pytest.mark.django_db, pytest.mark.rows]


@pytest.fixture(autouse=True)
def healthy(valkey: Any, admin_user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    for kind in KINDS:
        client().set(f"{PREFIX}alive:{kind}", "1", ex=TTL)
    # The real self-test belongs to tests/tools/backends.
    backend = diagnosis.BACKENDS.get("local")
    monkeypatch.setattr(type(backend), "health_check", lambda self: Health(True, "isolated"))


def look() -> tuple[dict[str, tuple[str, str, str]], int]:
    """Findings by subject, and the exit code."""
    out, code = io.StringIO(), 0
    try:
        call_command("doctor", "--json", stdout=out)
    except SystemExit as end:
        code = int(str(end.code))
    found = [json.loads(line) for line in out.getvalue().splitlines()]
    return {f["subject"]: (f["state"], f["detail"], f["mend"]) for f in found}, code


def test_a_healthy_portal_has_no_errors() -> None:
    found, code = look()
    assert code == 0
    assert {subject for subject, (state, _, _) in found.items() if state == "error"} == set()
    for subject in ("home", "database", "migrations", "redis", "sandbox", "audit", "model"):
        assert found[subject][0] == "ok", (subject, found[subject])
    assert {found[f"worker {kind}"][0] for kind in KINDS} == {"ok"}
    assert "read_file" in found["tools"][1]
    assert all(mend for state, _, mend in found.values() if state != "ok")


def test_without_json_it_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    call_command("doctor", stdout=out, no_color=True)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("ok      python ")
    assert any(line.startswith("warning mail ") for line in lines)
    assert any(line.strip().startswith("→ Set EMAIL_URL") for line in lines)


def test_redis_that_is_away(settings: Any) -> None:
    from hermes_site.lib import redis

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    redis._client.cache_clear()
    found, code = look()
    assert (found["redis"][0], found["redis"][2], code) == (
        "error",
        "Start it, or mend REDIS_URL.",
        1,
    )
    assert found["worker turns"][0] == "warning"
    redis._client.cache_clear()


def test_redis_that_may_drop_things(valkey: Any) -> None:
    client().config_set("maxmemory-policy", "allkeys-lru")
    try:
        state, detail, mend = look()[0]["redis"]
    finally:
        client().config_set("maxmemory-policy", "noeviction")
    assert (state, "allkeys-lru" in detail, "noeviction" in mend) == ("warning", True, True)


def test_a_silent_worker_beside_living_ones_is_an_error() -> None:
    client().delete(f"{PREFIX}alive:tools")
    found, code = look()
    assert (found["worker tools"][0], found["worker turns"][0], code) == ("error", "ok", 1)


def test_a_running_portal_must_answer(settings: Any) -> None:
    lock = HomeLock(settings.HERMES_HOME)
    lock.take(1)
    settings.HERMES_PORT = 1
    try:
        found, code = look()
    finally:
        lock._let_go()
    assert (found["web"][0], code) == ("error", 1)
    assert look()[0]["web"][0] == "warning"


def test_a_migration_that_is_missing() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'agents'")
    found, code = look()
    assert found["migrations"][0] == "error"
    assert "agents.0001_initial" in found["migrations"][1]
    assert (found["migrations"][2], code) == ("Run manage.py migrate.", 1)


def test_a_forged_audit_entry() -> None:
    AuditEntry.objects.create(action="forged", previous="0" * 64, hash="1" * 64)
    found, code = look()
    assert (found["audit"][0], code) == ("error", 1)
    assert str(AuditEntry.objects.latest("id").pk) in found["audit"][1]


def test_a_home_that_is_no_folder(settings: Any, tmp_path: Any) -> None:
    (tmp_path / "file").write_text("x")
    settings.HERMES_HOME = tmp_path / "file"
    found, code = look()
    assert (found["home"][0], code) == ("error", 1)
    assert "HERMES_HOME" in found["home"][2]


def test_a_sandbox_that_does_not_isolate(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = diagnosis.BACKENDS.get("local")
    broken = Health(False, "network was not denied")
    monkeypatch.setattr(type(backend), "health_check", lambda self: broken)
    found, code = look()
    assert (found["sandbox"][:2], code) == (("error", "network was not denied"), 1)


def test_a_plug_in_that_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOOLS.broken, "third_party.tool", "ImportError('x')")
    found, code = look()
    assert (found["tool third_party.tool"][0], code) == ("error", 1)


def test_no_model_and_no_administrator(monkeypatch: pytest.MonkeyPatch, admin_user: Any) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    admin_user.is_superuser = False
    admin_user.save()
    found, code = look()
    assert (found["model"][0], found["administrator"][0], code) == ("warning", "warning", 0)
    assert "OPENAI_API_KEY" in found["model"][2]


def test_wrong_settings_are_findings(settings: Any) -> None:
    settings.HERMES_DEFAULT_ENGINE = "no-such"
    found, code = look()
    assert (found["settings hermes.E007"][0], code) == ("error", 1)
    assert "settings" not in found
    assert found["settings hermes.E007"][2].startswith("Use one of: ")


def test_a_look_that_fails_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise RuntimeError("boom")

    monkeypatch.setitem(diagnosis.LOOKS, "python", fail)
    found, code = look()
    assert (found["python"][:2], code) == (("error", "RuntimeError: boom"), 1)
    assert found["database"][0] == "ok"
