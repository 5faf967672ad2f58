"""What the supervisor asks of Linux: tie lives together, adopt orphans, find and end groups."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int, sign: int = signal.SIGTERM) -> None:
    """Have the kernel send ``sign`` to this process when ``parent`` ends; at once if it has."""
    _libc.prctl(PR_SET_PDEATHSIG, int(sign), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), sign)


def begin_child(parent: int) -> None:
    """What a new child does first: signals as usual, and its life tied to ``parent``'s."""
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, signal.SIG_DFL)
    die_with_parent(parent)


def name_process(name: str) -> None:
    """The short name in ``ps -e`` and ``top``; the kernel keeps 15 bytes."""
    _libc.prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, wherever it put itself."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(parent: int) -> dict[int, int]:
    """The running processes whose parent is ``parent``, as {pid: session id}."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name in field 2 may hold spaces and brackets, so split after it.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                state, ppid, _, session = fields[:4]
                if int(ppid) == parent and state != "Z":
                    found[int(entry.name)] = int(session)
    return found


def send(pid: int, sign: int) -> None:
    """Signal a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, sign)


def kill_tree(pid: int) -> None:
    """SIGKILL ``pid`` and all its descendants, whatever group or session they are in."""
    # Stopped first, so that it cannot make new children while the old ones are counted.
    send(pid, signal.SIGSTOP)
    for child in children(pid):
        kill_tree(child)
    send(pid, signal.SIGKILL)


def kill_children() -> None:
    """SIGKILL and reap everything below this process, also what is orphaned meanwhile."""
    while found := children(os.getpid()):
        for pid in found:
            kill_tree(pid)
        while reap():
            pass


def kill_session(session: int) -> None:
    """SIGKILL what is left of a session whose leader ended, with all descendants of it."""
    for pid, its_session in children(os.getpid()).items():
        if its_session == session:
            kill_tree(pid)


def age() -> float:
    """Seconds since this process was started, its imports included."""
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return uptime - started / os.sysconf("SC_CLK_TCK")


def reap() -> tuple[int, int] | None:
    """One child that ended, as (pid, exit code; negative for a signal), or None."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, os.waitstatus_to_exitcode(status)) if pid else None
