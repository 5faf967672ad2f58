"""Who a sandboxed command is on the host, and that its files belong to it.

An unprivileged portal maps its own account to uid 1000 inside a user namespace. A portal
that runs as root gives each workspace a uid of its own, so that even outside every namespace
one user's command has no rights to another's files, and per-uid limits are per user.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from functools import cache
from pathlib import Path

from tools import beneath

INSIDE_UID = 1000
# systemd keeps 0x70000000-0x7fffffff free of accounts and containers ("HIC SVNT LEONES").
_HIGH_BASE, _HIGH_COUNT = 0x70000000, 0x0FFFFFFF
# Inside a container that maps only 65,536 ids.
_LOW_BASE, _LOW_COUNT = 30_000, 30_000


@cache
def _uid_range() -> tuple[int, int]:
    mapped = 0
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        start, _, count = (int(word) for word in line.split())
        mapped = max(mapped, start + count)
    high = mapped >= _HIGH_BASE + _HIGH_COUNT
    return (_HIGH_BASE, _HIGH_COUNT) if high else (_LOW_BASE, _LOW_COUNT)


def host_uid(workspace: Path) -> int | None:
    """The uid that commands in ``workspace`` run as, or None when the portal is not root and
    cannot choose one."""
    if os.geteuid() != 0:
        return None
    owner = os.stat(workspace).st_uid
    if owner:
        return owner
    base, count = _uid_range()
    return base + zlib.crc32(workspace.name.encode("utf-8", "surrogateescape")) % count


def adopt(workspace: Path, uid: int) -> None:
    """Give what the portal's root wrote into ``workspace`` to ``uid``; links are not followed."""
    root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if os.fstat(root).st_uid == 0:
            os.fchown(root, uid, uid)
        for found in beneath.walk(root):
            if found.status.st_uid == 0:
                with contextlib.suppress(FileNotFoundError):  # deleted while we look
                    os.chown(found.name, uid, uid, dir_fd=found.folder, follow_symlinks=False)
    finally:
        os.close(root)
