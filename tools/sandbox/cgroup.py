"""A cgroup v2 of its own for each box, where the portal may make one.

Needs the memory and pids controllers handed to the portal's own group or its parent
(systemd: ``Delegate=yes``; a container: a writable cgroup mount). Elsewhere the process
limits and ``watch`` stand in.
"""

from __future__ import annotations

import contextlib
import os
import time
from functools import cache
from pathlib import Path
from uuid import uuid4

from tools.sandbox.box import Limits

_CPU_PERIOD = 100_000


@cache
def parent() -> Path | None:
    """The group below which boxes get theirs, or None."""
    for mount in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        if (mount / "cgroup.controllers").exists():
            own = mount / _own_path().lstrip("/")
            return next((group for group in (own, own.parent) if _usable(group, mount)), None)
    return None


def _own_path() -> str:
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    return next((line[3:] for line in lines if line.startswith("0::")), "/")


def _usable(group: Path, mount: Path) -> bool:
    if mount != group and mount not in group.parents:
        return False
    try:
        handed_down = (group / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return {"memory", "pids"} <= set(handed_down) and os.access(group, os.W_OK)


class Cgroup:
    """One box's group."""

    def __init__(self, above: Path, limits: Limits) -> None:
        self.path = above / f"hermes-box-{uuid4().hex}"
        self.path.mkdir()
        settings = {
            "memory.max": str(limits.memory),
            "memory.swap.max": "0",
            "memory.oom.group": "1",
            "pids.max": str(limits.processes),
            "cpu.max": f"{_CPU_PERIOD * max(1, (os.cpu_count() or 1) - 1)} {_CPU_PERIOD}",
            "cpu.weight": "20",
        }
        for name, value in settings.items():
            # Swap, the OOM group and cpu are not there on every system.
            with contextlib.suppress(FileNotFoundError):
                (self.path / name).write_text(value)

    def add(self, pid: int) -> None:
        (self.path / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        """Kill what is left and delete the group."""
        with contextlib.suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")
        for _ in range(100):
            try:
                self.path.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.02)
            else:
                return


def make(limits: Limits) -> Cgroup | None:
    """A group for a new box, or None where there is no room for one."""
    above = parent()
    if above is None:
        return None
    try:
        return Cgroup(above, limits)
    except OSError:
        return None
