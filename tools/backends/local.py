"""Commands on this machine, in a bubblewrap box that holds nothing but the user's workspace.

Fails closed: while the self-test does not pass, nothing runs and the result says why.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable
from pathlib import Path

from hermes_site.lib.errors import PortalError
from tools.backends.base import Backend, ExecutionResult, Health
from tools.sandbox import seccomp, selftest
from tools.sandbox.box import Box, Limits, find_bwrap, inside
from tools.sandbox.collect import follow
from tools.sandbox.process import Sandboxed, SandboxFailed, start
from tools.workspace import Workspace

# One argument of a program may have 128 KiB on Linux.
_MAX_COMMAND = 120_000
# Seconds after which a failed self-test is tried again.
_RETRY = 60


class LocalBackend(Backend):
    """The sandbox of this machine; ``limits`` bound each command."""

    name = "local"

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._lock = threading.Lock()
        self._health: Health | None = None
        self._checked = 0.0

    def execute(
        self,
        command: str,
        *,
        workspace: Path,
        cwd: str = ".",
        timeout: float = 30,
        env: dict[str, str] | None = None,
        stdin: str | None = None,
        on_output: Callable[[str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> ExecutionResult:
        raw = command.encode("utf-8", "replace")
        if len(raw) > _MAX_COMMAND or b"\0" in raw:
            return _refused(f"A command has at most {_MAX_COMMAND} bytes and no NUL; use a file.")
        try:
            running = self.start(
                [_shell(), "-c", raw.decode()],
                workspace=workspace,
                cwd=cwd,
                env=env,
                stdin=stdin is not None,
            )
        except (SandboxFailed, PortalError) as error:
            return _refused(str(error))
        return follow(
            running, timeout=timeout, stdin=stdin, on_output=on_output, cancelled=cancelled
        )

    def start(
        self,
        argv: list[str],
        *,
        workspace: Path,
        cwd: str = ".",
        env: dict[str, str] | None = None,
        stdin: bool = False,
        stderr: bool = False,
        pass_fds: tuple[int, ...] = (),
    ) -> Sandboxed:
        """A program that runs on, for background processes and stdio servers; the caller
        calls ``destroy``. Raises ``SandboxFailed``, or ``ModelRecoverable`` for a bad ``cwd``."""
        health = self.health()
        if not health.ok:
            raise SandboxFailed(f"The sandbox is off: {health.detail}")
        try:
            folder = inside(cwd)
        except ValueError as error:
            raise SandboxFailed(str(error)) from error
        if Workspace(workspace).stat(folder).kind != "folder":
            raise SandboxFailed(f"{cwd!r} is not a folder.")
        box = Box(workspace, folder, env or {}, self.limits)
        return start(box, argv, stdin=stdin, stderr=stderr, pass_fds=pass_fds)

    def health(self) -> Health:
        """The last ``health_check`` of this process; made when there is none, and again a
        minute after one that failed."""
        with self._lock:
            old = self._health and not self._health.ok and time.monotonic() - self._checked > _RETRY
            if self._health is None or old:
                self._health = self._check()
                self._checked = time.monotonic()
            return self._health

    def health_check(self) -> Health:
        with self._lock:
            self._health = self._check()
            self._checked = time.monotonic()
            return self._health

    def _check(self) -> Health:
        machine = platform.machine()
        if machine not in seccomp.ARCHES:
            return Health(False, f"there is no system-call filter for {machine}")
        bwrap = find_bwrap()
        if bwrap is None:
            return Health(False, "bubblewrap (bwrap 0.10 or newer) is not installed")
        wrong = selftest.failures(self._unchecked, seccomp.denied_calls(machine)["ptrace"])
        return Health(False, "; ".join(wrong)) if wrong else Health(True, f"{bwrap}, isolated")

    def _unchecked(self, script: str, workspace: Path) -> ExecutionResult:
        try:
            running = start(Box(workspace, limits=self.limits), [_shell(), "-c", script])
        except SandboxFailed as error:
            return _refused(str(error))
        return follow(running, timeout=30)


def _shell() -> str:
    return "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"


def _refused(why: str) -> ExecutionResult:
    return ExecutionResult("", exit_code=None, error=why)


BACKEND = LocalBackend()
