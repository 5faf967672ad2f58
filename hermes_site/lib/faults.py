"""Fault points: named places where tests kill, raise or pause the process.

Off unless ``HERMES_FAULTS`` names a file. Each line of the file is ``point action [n]``:
``kill`` (SIGKILL to this process), ``raise`` or ``sleep:SECONDS``, at the n-th time (default
the first) that any process comes by. A fired line is taken out of the file, so it fires once.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from pathlib import Path

_PATH = os.environ.get("HERMES_FAULTS") or None


class InjectedFault(RuntimeError):
    """What ``raise`` raises."""


def fault(point: str) -> None:
    """Do what the fault file says for ``point``; nothing, and at no cost, when there is none."""
    if _PATH is None:
        return
    action = _take(Path(_PATH), point)
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "raise":
        raise InjectedFault(point)
    elif action.startswith("sleep:"):
        time.sleep(float(action.removeprefix("sleep:")))


def _take(path: Path, point: str) -> str:
    """The action due at ``point``, removed from the file, or ``""``."""
    try:
        handle = path.open("r+")
    except FileNotFoundError:
        return ""
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        lines, due = [], ""
        for line in handle.read().splitlines():
            name, action, count = [*line.split(), "1"][:3]
            if name != point or due:
                lines.append(line)
            elif int(count) <= 1:
                due = action
            else:
                lines.append(f"{name} {action} {int(count) - 1}")
        handle.seek(0)
        handle.truncate()
        handle.write("".join(f"{line}\n" for line in lines))
    return due
