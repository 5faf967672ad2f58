"""Text at the door, secrets, ids and the environment."""

from __future__ import annotations

import pytest

from hermes_site.lib import env
from hermes_site.lib.errors import ConfigError
from hermes_site.lib.ids import new_id, parse_id
from hermes_site.lib.redact import redact
from hermes_site.lib.text import clean, clean_json, title_from, visible


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("a\x00b", "ab"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\ud800x", "\ufffdx"),
        ("\ud83d\ude00", "\U0001f600"),
        ("evil\u202egpj", "evilgpj"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b[31mred", "[31mred"),
    ],
)
def test_text_is_cleaned_at_the_door(raw: str, stored: str) -> None:
    assert clean(raw) == stored
    stored.encode()


def test_json_is_cleaned_in_keys_and_values() -> None:
    dirty = {"a\ud800": ["\x00", {"b": "\udfff"}], "n": 1, "t": True, "z": None}
    cleaned = {"a\ufffd": ["\ufffd", {"b": "\ufffd"}], "n": 1, "t": True, "z": None}
    assert clean_json(dirty) == cleaned


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("rm\u00a0-rf", "rm\\u{a0}-rf"),
        ("a\u200bb", "a\\u{200b}b"),
        ("a\u202eb", "a\\u{202e}b"),
        ("\U000e0041", "\\u{e0041}"),
        ("a\x1b[0m", "a\\u{1b}[0m"),
        ("a b\n\tc", "a b\n\tc"),
        ("你好", "你好"),
    ],
)
def test_what_could_deceive_is_shown(raw: str, shown: str) -> None:
    assert visible(raw) == shown


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnopqrstuvwxyz0123",
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
        "hp_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "xoxb-1234567890-abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    ],
)
def test_secrets_are_taken_out(secret: str) -> None:
    assert redact(f"before {secret} after") == "before [redacted] after"


def test_ordinary_text_is_left_alone() -> None:
    text = "The task-force met at 12:30; sk-8 boards; commit 3f2a9c1 in src/keys.py"
    assert redact(text) == text


def test_ids_sort_by_time_and_nonsense_is_none() -> None:
    ids = [new_id() for _ in range(100)]
    assert ids == sorted(ids)
    assert parse_id(str(ids[0])) == ids[0]
    assert parse_id("../../x") is None


def test_titles_are_short_and_on_one_line() -> None:
    assert title_from("# Plan\nfor   tomorrow") == "Plan for tomorrow"
    assert len(title_from("x" * 500)) == 60


def test_a_wrong_setting_names_itself_and_the_mend(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("HERMES_PORT", "eighty")
    with pytest.raises(ConfigError, match="HERMES_PORT='eighty' is not a number"):
        env.integer("HERMES_PORT", 8000)
    monkeypatch.setenv("HERMES_PORT", "0")
    with pytest.raises(ConfigError, match="Use 1 to 65535"):
        env.integer("HERMES_PORT", 8000, low=1, high=65535)
    monkeypatch.setenv("HERMES_DEBUG", "maybe")
    with pytest.raises(ConfigError, match="HERMES_DEBUG='maybe' is not a switch"):
        env.flag("HERMES_DEBUG")
    monkeypatch.setenv("EMAIL_URL", "http://mail")
    with pytest.raises(ConfigError, match="smtp://"):
        env.mail_settings("http://mail")


def test_a_secret_can_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    path = tmp_path / "key"  # type: ignore[operator]
    path.write_text("s3cret\n")
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(path))
    assert env.text("OPENAI_API_KEY") == "s3cret"
    assert env.source("OPENAI_API_KEY") == "OPENAI_API_KEY_FILE"
    monkeypatch.setenv("OPENAI_API_KEY_FILE", "/nowhere")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY_FILE='/nowhere' cannot be read"):
        env.text("OPENAI_API_KEY")
