"""Starting a box, and ending it so that nothing of it is left."""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import termios
import time
from dataclasses import replace

from tools.sandbox import box as boxes
from tools.sandbox import cgroup, guard, identity
from tools.sandbox.box import Box, Inherited
from tools.sandbox.keeper import Keeper
from tools.sandbox.watch import Watch

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
_SETUP_SECONDS = 15


class SandboxFailed(Exception):
    """The box could not be set up; the text is for an administrator."""


class Sandboxed:
    """A running box. ``stdout`` carries both output streams unless ``stderr`` was asked for.

    The box ends with its command, whatever that started in the background; ``destroy`` ends
    it at once and returns when every process in it is gone.
    """

    def __init__(self, popen: subprocess.Popen[bytes], box: Box, lock: guard.SetupLock) -> None:
        self.popen, self._lock = popen, lock
        self._init: int | None = None
        self._cgroup: cgroup.Cgroup | None = None
        self._keeper: Keeper | None = None
        self.watch = Watch(popen.pid, box.workspace, box.limits)

    def begin(self, box: Box, info: int, block: int) -> None:
        """Wait for the namespaces, move the box into its cgroup, let the command run."""
        child = _child_pid(info)
        self._init = os.pidfd_open(child)
        if os.geteuid() == 0:
            self._keeper = Keeper(child)
        self._cgroup = cgroup.make(box.limits)
        if self._cgroup:
            self._cgroup.add(self.popen.pid)
            self._cgroup.add(child)
        os.write(block, b"x")
        deadline = time.monotonic() + _SETUP_SECONDS
        # The byte is taken after the last mount and before the command.
        while _unread(block):
            if self.popen.poll() is not None or time.monotonic() > deadline:
                raise SandboxFailed("bubblewrap did not finish its set-up")
            time.sleep(0.001)
        self._lock.share()

    def destroy(self) -> int | None:
        """End everything, free everything; returns the exit code."""
        if self._init is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
        if self._keeper:
            self._keeper.release()
            self._keeper = None
        try:
            # bubblewrap reaps its child, and ends; killed first it would leave a zombie.
            self.popen.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        if self._init is not None:
            # Readable when the namespace's first process is reaped, after all the others.
            select.select([self._init], [], [], 10)
            os.close(self._init)
            self._init = None
        if self._cgroup:
            self._cgroup.remove()
            self._cgroup = None
        for stream in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()
        self._lock.close()
        return self.popen.returncode


def start(
    box: Box,
    argv: list[str],
    *,
    stdin: bool = False,
    stderr: bool = False,
    pass_fds: tuple[int, ...] = (),
) -> Sandboxed:
    """Start ``argv`` in ``box``. ``stdin`` and ``stderr`` ask for pipes of their own.

    The calling thread must live as long as the box: the kernel kills it with that thread.
    Raises ``SandboxFailed``.
    """
    bwrap = boxes.find_bwrap()
    if bwrap is None:
        raise SandboxFailed("bubblewrap (bwrap) is not installed, or older than 0.10")
    inherited = Inherited()
    try:
        uid = identity.host_uid(box.workspace)
        if uid is not None:
            identity.adopt(box.workspace, uid)
        lock = guard.SetupLock(box.workspace)
    except (OSError, TimeoutError) as error:
        raise SandboxFailed(str(error)) from error
    try:
        if lock.alone:
            guarded = guard.git_files(box.workspace)
            inherited.fds += [fd for fd, _, _ in guarded]
            box = replace(box, guarded=tuple(guarded))
        box = replace(box, own_stderr=stderr)
        command = boxes.command_line(bwrap, box, argv, inherited)
        return _spawn(box, command, lock, inherited, stdin, stderr, pass_fds)
    except (OSError, KeyError, ValueError) as error:
        lock.close()
        raise SandboxFailed(str(error)) from error
    except SandboxFailed:
        lock.close()
        raise
    finally:
        inherited.close()


def _spawn(
    box: Box,
    command: list[str],
    lock: guard.SetupLock,
    inherited: Inherited,
    stdin: bool,
    stderr: bool,
    pass_fds: tuple[int, ...],
) -> Sandboxed:
    info_read, info_write = os.pipe2(os.O_CLOEXEC)
    block_read, block_write = os.pipe2(os.O_CLOEXEC)
    try:
        links = ["--info-fd", str(info_write), "--block-fd", str(block_read)]
        popen = subprocess.Popen(  # noqa: S603 - this is what the box is for
            ["bwrap", *links, *command[1:]],  # noqa: S607 - its name, not its path
            executable=command[0],
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if stderr else subprocess.STDOUT,
            cwd="/",
            env=ENVIRONMENT,
            pass_fds=(*inherited.fds, info_write, block_read, *pass_fds),
            start_new_session=True,
            bufsize=0,
        )
        os.close(info_write)
        info_write = -1
        running = Sandboxed(popen, box, lock)
        try:
            running.begin(box, info_read, block_write)
        except (OSError, SandboxFailed, TimeoutError) as error:
            raise SandboxFailed(_complaint(running, error)) from error
        return running
    finally:
        for fd in (info_read, info_write, block_read, block_write):
            if fd >= 0:
                os.close(fd)


def _complaint(running: Sandboxed, error: Exception) -> str:
    """What bubblewrap said before it gave up."""
    stream = running.popen.stderr or running.popen.stdout
    assert stream is not None
    if running.popen.poll() is None:
        running.popen.kill()
    said = stream.read(2000).decode("utf-8", "replace").strip()
    running.destroy()
    return said or str(error)


def _child_pid(info: int) -> int:
    told = b""
    while b"}" not in told:
        if not select.select([info], [], [], _SETUP_SECONDS)[0]:
            raise SandboxFailed("bubblewrap does not answer")
        chunk = os.read(info, 4096)
        if not chunk:
            raise SandboxFailed("bubblewrap ended before the box was there")
        told += chunk
    return int(json.loads(told)["child-pid"])


def _unread(pipe: int) -> int:
    """Bytes that wait in a pipe."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]
