"""Where Chromium is, and how tests start it."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium_executable() -> str | None:
    """The path of an installed Chromium or Chrome, or None."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    return None


def chromium_arguments() -> list[str]:
    """Flags that keep it quiet; Chromium has no sandbox for root, who runs most containers."""
    return [*ARGUMENTS, *(["--no-sandbox"] if os.getuid() == 0 else [])]
