"""How much room a workspace takes, and how much it may take."""

from __future__ import annotations

import os
from pathlib import Path

from tools import beneath

QUOTA = 1024**3
# An empty file costs something too; this also bounds the number of files.
_LEAST = 4096


def usage(root: Path) -> int:
    """Bytes on disk below ``root``; links are counted, not followed. A tree deeper than the
    portal looks counts as a full one, so that nothing can hide down there."""
    total = 0
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for found in beneath.walk(folder):
            total += max(found.status.st_blocks * 512, _LEAST)
            if found.is_folder and found.depth >= beneath.MAX_DEPTH:
                return max(total, QUOTA + 1)
    finally:
        os.close(folder)
    return total
