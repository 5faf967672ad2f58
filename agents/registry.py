"""All model providers (wire formats) and engines, built in and plugged in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.providers.base import Provider
from hermes_site.lib.registry import Registry

if TYPE_CHECKING:
    from agents.engines.base import Engine

PROVIDERS: Registry[type[Provider]] = Registry(
    kind="provider", package="agents.providers", attribute="PROVIDER"
)
ENGINES: Registry[Engine] = Registry(kind="engine", package="agents.engines", attribute="ENGINE")
