"""A box ends with the worker that started it, however that ends.

Bubblewrap dies with the worker, but it may not end a box that runs under another account: the
kernel asks for a right that bubblewrap has given up by then. So a small shell waits beside it.
"""

from __future__ import annotations

import subprocess

# Without a word the worker is gone.
_SCRIPT = 'read -r word || kill -9 "$1"'


class Keeper:
    """Kills process ``pid`` when this process ends before ``release``."""

    def __init__(self, pid: int) -> None:
        self._shell = subprocess.Popen(  # noqa: S603
            ["/bin/sh", "-c", _SCRIPT, "sh", str(pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
        )

    def release(self) -> None:
        """The box has ended, or is being ended."""
        try:
            self._shell.communicate(b"done\n", timeout=5)
        except (OSError, subprocess.TimeoutExpired):
            self._shell.kill()
            self._shell.wait()
