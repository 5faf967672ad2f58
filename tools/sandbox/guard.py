"""Which git files of a workspace are read-only in the box.

Only descriptors opened beneath the workspace are handed on, and only when no other command
runs in it: bubblewrap resolves a mount's target by name, and a name that somebody can swap
for a link at that moment would be followed. So each box holds a lock on its workspace,
alone while it is being set up and shared while it runs.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from pathlib import Path

from hermes_site.lib.errors import PortalError
from tools.workspace import Workspace

_LINKS = 20
Guarded = tuple[int, str, bool]


class SetupLock:
    """Held from before the mounts until the box has ended."""

    def __init__(self, workspace: Path) -> None:
        self._fd = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.alone = self._try(fcntl.LOCK_EX)
        if not self.alone:
            self.share()

    def _try(self, how: int) -> bool:
        try:
            fcntl.flock(self._fd, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def share(self) -> None:
        """Let others in. Waits while another box is being set up (milliseconds)."""
        deadline = time.monotonic() + 10
        while not self._try(fcntl.LOCK_SH):
            if time.monotonic() > deadline:
                raise TimeoutError("Another command is being set up in this workspace.")
            time.sleep(0.002)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def git_files(workspace: Path) -> list[Guarded]:
    """``(descriptor, path, writable)`` of the mounts; the caller closes the descriptors.

    A ``.git`` folder is mounted on itself first, so that it cannot be renamed away. Where
    ``.git`` is a file it names a git folder elsewhere, and itself must not change.
    """
    space = Workspace(workspace)
    top = _open(space, ".git")
    if top is None:
        return []
    if stat.S_ISREG(os.fstat(top).st_mode):
        return [(top, ".git", False)]
    guarded: list[Guarded] = [(top, ".git", True)]
    for folder in [".git", *_modules(space)]:
        for name in ("config", "hooks"):
            path = f"{folder}/{name}"
            fd = _open(space, path)
            if fd is not None:
                guarded.append((fd, path, False))
    return guarded


def _modules(space: Workspace) -> list[str]:
    try:
        entries = space.list(".git/modules")
    except PortalError:
        return []
    return [entry.path for entry in entries if entry.kind == "folder"][:_LINKS]


def _open(space: Workspace, path: str) -> int | None:
    """An ``O_PATH`` descriptor of a plain file or folder reached without any link."""
    try:
        fd = space.open_path(path, links=False)
    except PortalError:
        return None
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return fd
    os.close(fd)
    return None
