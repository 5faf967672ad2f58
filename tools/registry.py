"""All tools and terminal backends, built in and plugged in."""

from __future__ import annotations

from hermes_site.lib.registry import Registry
from tools.backends.base import Backend
from tools.declare import Tool

TOOLS: Registry[Tool] = Registry(kind="tool", package="tools.builtin", attribute="TOOLS")
BACKENDS: Registry[Backend] = Registry(
    kind="backend", package="tools.backends", attribute="BACKEND"
)
