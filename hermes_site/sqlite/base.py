"""SQLite whose writers queue at a file lock instead of polling.

SQLite lets a second writer sleep and look again, for up to 100 ms a time: under a few hundred
write transactions a second from several processes, some wait for seconds. The kernel wakes the
next holder of a file lock at once. The lock is only about waiting: SQLite's own still decides.
"""

from __future__ import annotations

import fcntl
import os
from typing import Any

from django.db.backends.sqlite3 import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Takes ``<database>.writer`` for the length of each explicit transaction."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._gate: int | None = None
        self._gate_held = False

    def _start_transaction_under_autocommit(self) -> None:
        self._enter_gate()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._leave_gate()
            raise

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]
        finally:
            # A commit that failed is rolled back next, and needs the gate no more than that.
            self._leave_gate()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._leave_gate()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._leave_gate()
            if self._gate is not None:
                os.close(self._gate)
                self._gate = None

    def _enter_gate(self) -> None:
        if self.is_in_memory_db():
            return
        if self._gate is None:
            path = f"{self.settings_dict['NAME']}.writer"
            self._gate = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        self._gate_held = True

    def _leave_gate(self) -> None:
        if self._gate_held and self._gate is not None:
            self._gate_held = False
            fcntl.flock(self._gate, fcntl.LOCK_UN)
