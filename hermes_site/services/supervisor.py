"""The supervisor behind `manage.py up`: starts the table, keeps it running, stops it in order.

Two processes do it. The outer one is what the terminal sees; the inner one is the parent of
everything. The kernel tells the inner one when the outer one ends, and the outer one adopts
what is left when the inner one ends, so that a SIGKILL to either leaves nothing behind.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from types import FrameType

from hermes_site.lib.errors import ConfigError
from hermes_site.services import kernel, offline, valkey
from hermes_site.services.child import Child
from hermes_site.services.processes import Options, Process

TICK = 0.05
VALKEY_WAIT = 10.0
READY_CHECK = 0.2
LOG_CHECK = 30.0
SAME_SIGNAL = 1.0
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Supervisor:
    """Runs the table until a stop signal; ``say`` gets one line for each thing that happens."""

    def __init__(
        self, rows: Iterable[Process], options: Options, *, say: Callable[[str], None]
    ) -> None:
        self.options = options
        self.say = say
        self.children = [Child(row, options) for row in rows if row.wanted(options)]
        self.stops = 0
        self.stopped_at = float("-inf")
        self.log_check_at = 0.0

    def run(
        self,
        *,
        ready: Callable[[], bool],
        on_ready: Callable[[], None],
        on_stop: Callable[[], None],
    ) -> None:
        """Start everything, call ``on_ready`` once ``ready`` says so, return when all ended."""
        for sign in STOP_SIGNALS:
            if not _ignored(sign):
                signal.signal(sign, self._on_signal)
        kernel.adopt_orphans()
        try:
            self._start()
            self._watch_until(ready)
            if not self.stops:
                on_ready()
            self._watch_until(lambda: False)
        finally:
            on_stop()
            self._stop()

    def _watch_until(self, done: Callable[[], bool]) -> None:
        ask_at = 0.0
        while not self.stops:
            self._step()
            if time.monotonic() > ask_at:
                if done():
                    return
                ask_at = time.monotonic() + READY_CHECK
            time.sleep(TICK)

    def _on_signal(self, _sign: int, _frame: FrameType | None) -> None:
        # One Ctrl-C can come twice: from the terminal, and passed on by the outer process.
        if time.monotonic() > self.stopped_at + SAME_SIGNAL:
            self.stops += 1
            self.stopped_at = time.monotonic()

    def _start(self) -> None:
        for child in self.children:
            if self.stops:
                return
            child.start()
            if child.name == "valkey":
                self._await_valkey()

    def _await_valkey(self) -> None:
        deadline = time.monotonic() + VALKEY_WAIT
        while not self.stops and not valkey.ping(valkey.socket_path(self.options.home)):
            if time.monotonic() > deadline:
                log = self.options.home / "logs" / "valkey.log"
                raise ConfigError(f"Valkey does not answer. See {log}, or set REDIS_URL.")
            time.sleep(TICK)

    def _step(self) -> None:
        """Notice who ended, restart who is due, keep the logs short."""
        self._reap(self._report)
        now = time.monotonic()
        for child in self.children:
            if not child.running and child.due_at <= now:
                child.start()
                self.say(f"{child.name} is back (process {child.pid}).")
        if now > self.log_check_at:
            self.log_check_at = now + LOG_CHECK
            for child in self.children:
                child.trim_log()

    def _report(self, child: Child, code: int) -> None:
        delay = child.ended()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        self.say(f"{child.name} ended ({how}), starts again in {delay:g} s. See {child.log_path}")

    def _reap(self, seen: Callable[[Child, int], object]) -> None:
        while ended := kernel.reap():
            for child in self.children:
                if child.pid == ended[0]:
                    seen(child, ended[1])

    def _stop(self) -> None:
        """Stage by stage: SIGTERM, a grace time, SIGKILL. A second Ctrl-C skips the grace."""
        for stage in sorted({child.process.stage for child in self.children}):
            group = [child for child in self.children if child.process.stage == stage]
            for child in group:
                child.terminate()
            deadline = time.monotonic() + max(child.process.grace for child in group)
            while any(child.running for child in group):
                if time.monotonic() > deadline or self.stops > 1:
                    for child in group:
                        child.kill()
                self._reap(lambda child, _: child.ended())
                time.sleep(TICK / 5)
        for child in self.children:
            child.forget()
        offline.port_path(self.options.home).unlink(missing_ok=True)
        kernel.kill_children()


def guarded(inner: Callable[[], int]) -> int:
    """Run ``inner`` in a forked process that outlives neither a SIGKILL to it nor to this one.

    Returns its exit code. Must be called before any thread is started.
    """
    outer = os.getpid()
    kernel.adopt_orphans()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            kernel.die_with_parent(outer)
            # Until the supervisor listens, Ctrl-C may simply end it.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            code = inner()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    # The terminal sends Ctrl-C to both, a person's `kill -INT` to this one only.
    for sign in STOP_SIGNALS:
        if not _ignored(sign):
            signal.signal(sign, lambda number, _: kernel.send(pid, number))
    _, status = os.waitpid(pid, 0)
    kernel.kill_children()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _ignored(sign: signal.Signals) -> bool:
    """A hang-up is ignored when nohup says so; Ctrl-C and SIGTERM never are."""
    return sign == signal.SIGHUP and signal.getsignal(sign) is signal.SIG_IGN
