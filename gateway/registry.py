"""All chat platforms, built in and plugged in."""

from __future__ import annotations

from typing import Protocol

from hermes_site.lib.registry import Registry


class Platform(Protocol):
    """A chat platform as the gateway process runs it."""

    name: str

    async def run(self) -> None:
        """Keep the connection; returns when there is nothing to do, raises when it broke."""


PLATFORMS: Registry[Platform] = Registry(
    kind="platform", package="gateway.platforms", attribute="PLATFORM"
)
