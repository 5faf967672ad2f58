"""What ``up`` found on the usual local ports, kept for the other processes."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from hermes_site.services.local_models import LocalServer


def _path(home: Path) -> Path:
    return home / "run" / "local_models.json"


def remember(home: Path, servers: list[LocalServer]) -> None:
    """Write the list down; an empty one too, so that a server that went is forgotten."""
    path = _path(home)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([[s.name, s.base_url, list(s.models)] for s in servers]))


def found_servers(home: Path) -> list[LocalServer]:
    """The servers of the last start; none when ``up`` has not run here."""
    try:
        changed = _path(home).stat().st_mtime_ns
    except FileNotFoundError:
        return []
    return _read(home, changed)


@lru_cache(maxsize=4)
def _read(home: Path, changed: int) -> list[LocalServer]:
    rows = json.loads(_path(home).read_text())
    return [LocalServer(name, url, tuple(models)) for name, url, models in rows]
