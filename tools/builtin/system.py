"""Tools about the system itself: current_time."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from hermes_site.lib import clock
from hermes_site.lib.errors import ModelRecoverable
from tools.declare import ToolContext, tool


@tool(
    name="current_time",
    description="The present date and time, with the day of the week.",
    category="read",
    parameters={
        "timezone": {
            "type": "string",
            "description": "An IANA name like Asia/Shanghai; without it, the user's own.",
            "default": "",
        }
    },
)
def current_time(ctx: ToolContext, timezone: str = "") -> dict[str, Any]:
    zone = _zone(timezone or str(getattr(ctx.user, "timezone", "") or "UTC"))
    moment = clock.now().astimezone(zone)
    text = f"{moment:%A} {moment.isoformat(timespec='seconds')} ({zone.key})"
    metadata = {"utc": clock.iso(moment), "unix": int(moment.timestamp())}
    return {"success": True, "result": text, "metadata": metadata}


def _zone(name: str) -> ZoneInfo:
    """By a listed name only: the library would look a path up on disk."""
    known = {zone.lower(): zone for zone in available_timezones()}
    found = known.get(name.strip().lower().replace(" ", "_"))
    if found is None:
        raise ModelRecoverable(f"{name!r} is not a time zone. Use an IANA name like Asia/Tokyo.")
    return ZoneInfo(found)


TOOLS = [current_time]
