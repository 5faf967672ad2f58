"""Wrong and insecure settings are found at start, with the setting and the mend named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.checks import check_deployment, check_settings

ROOT = Path(__file__).resolve().parents[2]


def ids(found: list[Any]) -> list[str]:
    return [message.id for message in found]


def test_the_defaults_are_clean() -> None:
    assert check_settings() == []


@pytest.mark.parametrize(
    ("changes", "id", "names"),
    [
        ({"HERMES_PUBLIC_URL": "portal.example.com"}, "hermes.E001", "HERMES_PUBLIC_URL"),
        ({"HERMES_PUBLIC_URL": "ftp://x"}, "hermes.E001", "HERMES_PUBLIC_URL"),
        ({"HERMES_PUBLIC_URL": "http://"}, "hermes.E001", "HERMES_PUBLIC_URL"),
        ({"HERMES_PUBLIC_URL": "http://x:port"}, "hermes.E001", "HERMES_PUBLIC_URL"),
        ({"HERMES_PUBLIC_URL": "http://localhost/sub"}, "hermes.E001", "HERMES_PUBLIC_URL"),
        ({"HERMES_PUBLIC_URL": "http://[::1"}, "hermes.E001", "HERMES_PUBLIC_URL"),
        ({"ALLOWED_HOSTS": ["*"]}, "hermes.E002", "ALLOWED_HOSTS"),
        ({"ALLOWED_HOSTS": ["other.example.com"]}, "hermes.E003", "ALLOWED_HOSTS"),
        ({"DEBUG": True, "SECURE": True}, "hermes.E004", "HERMES_DEBUG"),
        ({"HERMES_HOST": "0.0.0.0"}, "hermes.W005", "HERMES_HOST"),
        ({"HERMES_DEFAULT_ENGINE": "x"}, "hermes.E007", "HERMES_DEFAULT_ENGINE"),
        ({"HERMES_MODEL": "anthropic/x"}, "hermes.E008", "HERMES_MODEL"),
        ({"HERMES_LEASE": 3}, "hermes.E009", "HERMES_LEASE"),
        ({"REDIS_URL": "http://x"}, "hermes.E011", "REDIS_URL"),
    ],
)
def test_a_wrong_setting_is_named_with_its_mend(
    settings: Any, changes: dict[str, Any], id: str, names: str
) -> None:
    for name, value in changes.items():
        setattr(settings, name, value)
    (found,) = [message for message in check_settings() if message.id == id]
    assert names in found.msg
    assert found.hint


@pytest.mark.parametrize(
    ("name", "value", "id"),
    [
        ("SECRET_KEY", "changeme", "hermes.E006"),
        ("SECRET_KEY", "a" * 60, "hermes.E006"),
        ("OPENAI_BASE_URL", "localhost:11434", "hermes.E010"),
        ("ANTHROPIC_BASE_URL", "http://", "hermes.E010"),
        ("OIDC_CLIENT_ID", "portal", "hermes.E012"),
    ],
)
def test_a_wrong_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, id: str
) -> None:
    monkeypatch.setenv(name, value)
    (found,) = check_settings()
    assert (found.id, name in found.msg) == (id, True)


def test_a_star_is_an_error_in_public_and_a_warning_at_home(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    assert [message.is_serious() for message in check_settings()] == [False]
    settings.SECURE = True
    assert [message.is_serious() for message in check_settings()] == [True]


@pytest.mark.parametrize("hosts", [["127.0.0.1"], ["localhost", "127.0.0.1"]])
def test_own_hosts_are_enough(settings: Any, hosts: list[str]) -> None:
    settings.ALLOWED_HOSTS = hosts
    assert check_settings() == []


def test_subdomains_count(settings: Any) -> None:
    settings.HERMES_PUBLIC_URL = "https://portal.example.com"
    settings.ALLOWED_HOSTS = [".example.com"]
    assert check_settings() == []
    settings.ALLOWED_HOSTS = [".ample.com"]
    assert ids(check_settings()) == ["hermes.E003"]


def test_models_of_openrouter_look_like_accounts(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "k" * 20)
    settings.HERMES_MODEL = "anthropic/claude"
    assert check_settings() == []


def test_deployment_wants_https(settings: Any) -> None:
    assert ids(check_deployment()) == ["hermes.E020"]
    settings.SECURE = True
    assert check_deployment() == []


def test_a_wrong_setting_stops_the_start(tmp_path: Path) -> None:
    environment = {**os.environ, "HERMES_HOME": str(tmp_path), "HERMES_DEFAULT_ENGINE": "x"}
    started = subprocess.run(
        [sys.executable, "manage.py", "migrate"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert started.returncode == 1
    assert "HERMES_DEFAULT_ENGINE='x' is no engine." in started.stderr
    assert "Use one of: hermes" in started.stderr
