"""One portal per HERMES_HOME: the lock that `up` holds for its whole life."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from hermes_site.lib.errors import ConfigError

STOPPING = "stopping"
# Longer than the grace times of all stages together.
STOP_WAIT = 40.0


class HomeLock:
    """Claims ``home``, and makes its folders. The kernel lets go of it when the process ends."""

    def __init__(self, home: Path) -> None:
        for folder in (home, home / "run", home / "logs"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.home = home
        self._file = os.open(home / "run" / "up.lock", os.O_RDWR | os.O_CREAT, 0o600)

    def take(self, owner: int) -> None:
        """Take it for process ``owner``, after one that is stopping. Raises ConfigError."""
        deadline = time.monotonic() + STOP_WAIT
        while not self._try():
            holder = os.pread(self._file, 64, 0).decode().strip()
            if not holder.endswith(STOPPING) or time.monotonic() > deadline:
                raise ConfigError(
                    f"A portal already runs in {self.home} (process {holder}). "
                    "Stop it first, or set HERMES_HOME to another folder."
                )
            time.sleep(0.1)
        # A forked child would hold it on after this process has ended.
        os.register_at_fork(after_in_child=self._let_go)
        self._write(str(owner))

    def stopping(self, owner: int) -> None:
        """Tell whoever wants the lock that it will soon be free."""
        self._write(f"{owner} {STOPPING}")

    def _let_go(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _write(self, text: str) -> None:
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{text}\n".encode(), 0)
