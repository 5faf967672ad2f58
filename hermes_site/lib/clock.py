"""The one clock. Everything that asks for the time asks here, so that tests can move it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """The present moment, aware, in UTC."""
    return datetime.now(UTC)


def in_seconds(seconds: float) -> datetime:
    """The moment ``seconds`` from now."""
    return now() + timedelta(seconds=seconds)


def iso(moment: datetime | None) -> str | None:
    """RFC 3339 with milliseconds and ``Z``, the form of every time that leaves the portal."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
