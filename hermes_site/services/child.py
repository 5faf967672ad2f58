"""One supervised process: its start, its pid file, its log, its end and its return."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from hermes_site.services import kernel
from hermes_site.services.forked import ROOT, start_forked
from hermes_site.services.processes import Options, Process

FIRST_DELAY = 0.2
LONGEST_DELAY = 10.0
# Whoever ran this long was well; its next fault is a new one.
WELL_AFTER = 30.0
LOG_LIMIT = 10 * 1024 * 1024


class Child:
    """A process of the table while the supervisor runs. Times are of the monotonic clock."""

    def __init__(self, process: Process, options: Options) -> None:
        self.process = process
        self.options = options
        self.pid = 0
        self.failures = 0
        self.started_at = 0.0
        self.due_at = 0.0
        self.pid_path = options.home / "run" / f"{process.name}.pid"
        self.log_path = options.home / "logs" / f"{process.name}.log"

    @property
    def name(self) -> str:
        return self.process.name

    @property
    def running(self) -> bool:
        return self.pid != 0

    def start(self) -> None:
        """Start it in a session of its own, tied to this process's life."""
        self.trim_log()
        command = self.process.command(self.options)
        with self.log_path.open("ab") as log:
            if self.process.forked():
                self.pid = start_forked(self.name, command, log.fileno())
            else:
                self.pid = _start_program(command, log.fileno())
        self.started_at = time.monotonic()
        _write_whole(self.pid_path, f"{self.pid}\n")

    def ended(self) -> float:
        """Note that it ended, kill what it left behind, and return the delay in s to its return."""
        kernel.kill_session(self.pid)
        now = time.monotonic()
        if now - self.started_at > WELL_AFTER:
            self.failures = 0
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2.0**self.failures)
        self.failures = min(self.failures + 1, 10)
        self.due_at = now + delay
        self.pid = 0
        return delay

    def terminate(self) -> None:
        if self.running:
            # The leader alone: Celery's master ends its pool itself, in order.
            kernel.send(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        if self.running:
            kernel.kill_tree(self.pid)

    def forget(self) -> None:
        """Take its pid file away, once it has ended for good."""
        self.pid_path.unlink(missing_ok=True)

    def trim_log(self) -> None:
        """Keep the log under LOG_LIMIT and one older one; its writer appends, so it may run."""
        if self.log_path.exists() and self.log_path.stat().st_size > LOG_LIMIT:
            self.log_path.with_suffix(".log.1").write_bytes(self.log_path.read_bytes())
            os.truncate(self.log_path, 0)


def _start_program(command: list[str], log: int) -> int:
    parent = os.getpid()
    popen = subprocess.Popen(  # noqa: S603
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        # Safe here: the supervisor has one thread.
        preexec_fn=lambda: kernel.begin_child(parent),
    )
    # The supervisor reaps every child itself; Popen must not warn about this one.
    popen.returncode = 0
    return popen.pid


def _write_whole(path: Path, text: str) -> None:
    """Write so that a reader sees the old text or the new one, never half of it."""
    temporary = path.with_suffix(".new")
    temporary.write_text(text)
    temporary.replace(path)
