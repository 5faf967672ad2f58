"""What `up` finds out: free ports, provider settings, whether the offline model is needed."""

from __future__ import annotations

import socket

import pytest

from hermes_site.lib.errors import ConfigError
from hermes_site.services import readiness
from hermes_site.services.ports import free_port, is_free


def test_a_taken_port_is_named_with_its_mend() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_free("127.0.0.1", port)
        with pytest.raises(ConfigError, match=f"HERMES_PORT={port} is in use"):
            readiness.require_free_port("127.0.0.1", port)
    readiness.require_free_port("127.0.0.1", port)


def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(ConfigError, match=r"HERMES_PORT|HERMES_HOST"):
        readiness.require_free_port("192.0.2.1", free_port())
    with pytest.raises(ConfigError, match="HERMES_HOST='not an address'"):
        readiness.require_free_port("not an address", free_port())


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in (*readiness.PROVIDER_SETTINGS, "HERMES_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)
    return monkeypatch


def test_provider_settings_count_also_as_files(no_settings: pytest.MonkeyPatch) -> None:
    assert readiness.provider_settings() == []
    no_settings.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    no_settings.setenv("ANTHROPIC_API_KEY_FILE", "/secrets/key")
    assert readiness.provider_settings() == ["OPENAI_BASE_URL", "ANTHROPIC_API_KEY"]


@pytest.mark.parametrize(
    ("setting", "providers", "local", "wanted"),
    [
        ("", False, False, True),
        ("", True, False, False),
        ("", False, True, False),
        ("0", False, False, False),
        ("1", True, True, True),
    ],
)
def test_the_offline_model_starts_when_nothing_else_answers(
    no_settings: pytest.MonkeyPatch, setting: str, providers: bool, local: bool, wanted: bool
) -> None:
    no_settings.setenv("HERMES_OFFLINE", setting)
    assert readiness.offline_wanted(providers=providers, local_servers=local) is wanted


def test_nobody_at_the_port_is_not_ready() -> None:
    port = free_port()
    assert not readiness.is_ready("127.0.0.1", port, f"http://127.0.0.1:{port}")
