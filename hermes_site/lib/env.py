"""Typed reading of the environment. ``NAME_FILE`` reads a secret from a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from hermes_site.lib.errors import ConfigError

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


def text(name: str, default: str = "") -> str:
    """The value of ``name``, or the content of the file that ``NAME_FILE`` names."""
    path = os.environ.get(f"{name}_FILE")
    if path and name not in os.environ:
        try:
            return Path(path).read_text().strip()
        except OSError as error:
            raise ConfigError(f"{name}_FILE={path!r} cannot be read: {error.strerror}.") from error
    return os.environ.get(name, default).strip()


def flag(name: str, default: bool = False) -> bool:
    raw = text(name, "1" if default else "0").lower()
    if raw not in TRUE | FALSE:
        raise ConfigError(f"{name}={raw!r} is not a switch. Use one of: 1, 0, true, false.")
    return raw in TRUE


def number(name: str, default: float, *, low: float = 0, high: float = 1e12) -> float:
    raw = text(name, str(default))
    try:
        value = float(raw)
    except ValueError:
        raise ConfigError(f"{name}={raw!r} is not a number.") from None
    if not low <= value <= high:
        raise ConfigError(f"{name}={raw!r} is out of range. Use {low:g} to {high:g}.")
    return value


def integer(name: str, default: int, *, low: int = 0, high: int = 2**31) -> int:
    return int(number(name, default, low=low, high=high))


def words(name: str, default: str = "") -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    value = text(name, default)
    if value not in allowed:
        raise ConfigError(f"{name}={value!r} is not known. Use one of: {', '.join(allowed)}.")
    return value


def source(name: str) -> str | None:
    """Where ``name`` is set: the variable's own name, its ``_FILE`` form, or None."""
    for candidate in (name, f"{name}_FILE"):
        if os.environ.get(candidate):
            return candidate
    return None


def mail_settings(url: str) -> dict[str, Any]:
    """``smtp://user:password@host:587`` (``smtps`` for implicit TLS, ``?tls=0`` for none)."""
    parts = urlsplit(url)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ConfigError("EMAIL_URL must look like smtp://user:password@host:587.")
    ssl = parts.scheme == "smtps"
    return {
        "host": parts.hostname,
        "port": parts.port or (465 if ssl else 587),
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "ssl": ssl,
        "tls": not ssl and "tls=0" not in parts.query,
    }
