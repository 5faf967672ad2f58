"""Writing down the numbers that Redis gave to durable events: soon, and many at once.

A number is needed when a client resumes beyond the live tail, not before. Writing each at once
would double the write transactions of a message. A number that is lost with the process is made
up for by the sweeper, which publishes the event again.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading

from django.db import DatabaseError, connection, transaction

from memory.models import SessionEvent

log = logging.getLogger(__name__)

# Seconds in which numbers gather.
WINDOW = 0.25


def events_number(numbers: dict[int, int]) -> None:
    """Write ``{row: seq}`` in one transaction."""
    table = connection.ops.quote_name(SessionEvent._meta.db_table)
    pairs = [(seq, row) for row, seq in numbers.items()]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {table} SET seq = %s WHERE id = %s", pairs)  # noqa: S608


class Numbers:
    """The numbers of this process that wait to be written; made anew after a fork.

    ``inline`` writes at once, in the caller's thread.
    """

    def __init__(self) -> None:
        self.inline = False
        self._reset()
        os.register_at_fork(after_in_child=self._reset)
        atexit.register(self.flush)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, int] = {}
        self._timer: threading.Timer | None = None

    def add(self, numbers: dict[int, int]) -> None:
        if self.inline:
            events_number(numbers)
            return
        with self._lock:
            self._waiting.update(numbers)
            if self._timer is None:
                self._timer = threading.Timer(WINDOW, self._due)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            waiting, self._waiting, self._timer = self._waiting, {}, None
        if waiting:
            try:
                events_number(waiting)
            except DatabaseError as error:
                log.warning("numbers_not_written count=%d error=%s", len(waiting), error)

    def _due(self) -> None:
        self.flush()
        connection.close()


NUMBERS = Numbers()
