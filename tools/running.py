"""What surrounds a running tool: the lease kept alive, the clock, and its output on its way."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

from django.conf import settings
from django.db import connection

from hermes_site.lib.events import ToolOutput
from hermes_site.lib.redact import redact
from hermes_site.lib.text import clean
from memory.services import emit_live
from tools.models import ToolCall
from tools.services import call_renew

# Live output of one call: at most this many characters, sent at most this often (seconds).
_OUTPUT_CAP = 64_000
# Of one event, which is at most 64 KB.
_CHUNK = 16_000
_OUTPUT_EVERY = 0.1


class TimedOut(BaseException):
    """Not an ``Exception``, so that a tool's own handlers do not swallow it."""


class Keeper:
    """Renews the lease of a call from a thread; ``lost`` is set when it was cancelled."""

    def __init__(self, call: ToolCall) -> None:
        self.lost = threading.Event()
        self._call = call
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def __enter__(self) -> Keeper:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _keep(self) -> None:
        # Cancellation is looked for more often than the lease needs.
        try:
            while not self._stop.wait(min(settings.HERMES_HEARTBEAT, 1.0)):
                if not call_renew(self._call.pk, self._call.fence):
                    self.lost.set()
                    return
        finally:
            connection.close()


class OutputStream:
    """Sends a tool's output to the session's clients in batches."""

    def __init__(self, call: ToolCall) -> None:
        self._call = call
        self._waiting: list[str] = []
        self._sent = 0
        self._last = 0.0

    def write(self, text: str) -> None:
        if self._sent < _OUTPUT_CAP:
            self._waiting.append(text[: _OUTPUT_CAP - self._sent])
            self._sent += len(text)
        if time.monotonic() - self._last >= _OUTPUT_EVERY:
            self.close()

    def close(self) -> None:
        """Send what waits."""
        if self._waiting:
            text, self._waiting = redact(clean("".join(self._waiting))), []
            self._last = time.monotonic()
            call = self._call
            for start in range(0, len(text), _CHUNK):
                part = ToolOutput(id=str(call.pk), text=text[start : start + _CHUNK])
                emit_live(call.session_id, call.run_id, part)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise ``TimedOut`` in the body after ``seconds``; without effect off the main thread,
    where the worker's own hard limit has to do."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimedOut

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
