"""Watching a running box for what process limits cannot bound: the memory of all of its
processes together, and the disk."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tools.quota import QUOTA, usage
from tools.sandbox.box import Limits

_KEEP_FREE = 256 * 1024 * 1024


class Watch:
    """``problem()`` is cheap enough to be asked ten times a second."""

    def __init__(self, pid: int, workspace: Path, limits: Limits, quota: int = QUOTA) -> None:
        self._pid, self._workspace, self._limits, self._quota = pid, workspace, limits, quota
        self._next_memory = self._next_disk = time.monotonic() + 0.3

    def problem(self) -> str | None:
        """Why the box must end now, or None."""
        now = time.monotonic()
        if now >= self._next_memory:
            self._next_memory = now + 0.3
            if memory(self._pid) > self._limits.memory:
                return f"Memory limit of {self._limits.memory >> 20} MiB reached."
        if now >= self._next_disk:
            problem = self._disk()
            spent = time.monotonic() - now
            # At most a twentieth of a core, however many files there are.
            self._next_disk = now + max(1.0, 20 * spent)
            return problem
        return None

    def _disk(self) -> str | None:
        free = os.statvfs(self._workspace)
        if free.f_bavail * free.f_frsize < _KEEP_FREE:
            return "The disk is nearly full."
        if usage(self._workspace) > self._quota:
            return f"Workspace quota of {self._quota >> 20} MiB reached."
        return None


def memory(pid: int) -> int:
    """Bytes of private and shared memory that ``pid`` and all below it hold."""
    total, waiting, seen = 0, [pid], set()
    while waiting:
        pid = waiting.pop()
        if pid in seen:
            continue
        seen.add(pid)
        total += _resident(pid)
        waiting += _children(pid)
    return total


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    except OSError:
        pass  # it ended while we looked
    return found


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(
        int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon", "RssShmem"))
    )
