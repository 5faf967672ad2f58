"""A whole portal under test: `manage.py up` in a HERMES_HOME of its own."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

import psutil

from tests.fakes.servers import free_port, wait_for

ROOT = Path(__file__).resolve().parents[2]
ADMIN_EMAIL = "alice@example.org"
# A developer's own keys and settings must not reach a portal under test.
FOREIGN = ("HERMES_", "OPENAI_", "OPENROUTER_", "ANTHROPIC_", "DJANGO_", "S3_", "EMAIL_", "OIDC_")
FOREIGN_NAMES = {"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "ALLOWED_HOSTS"}
READY_TIMEOUT = 90


class Portal:
    """Started by ``start()`` or ``with``; ``settings`` are further environment variables.

    Without a provider setting it would start the offline model, so HERMES_OFFLINE is 0 unless
    given. ``home`` is a new temporary folder, or an existing one to go on with.
    """

    def __init__(self, home: Path | None = None, **settings: str) -> None:
        self._folder = None if home else tempfile.TemporaryDirectory(prefix="hermes-portal-")
        self.home = home or Path(self._folder.name)  # type: ignore[union-attr]
        self.port = free_port()
        self.admin_email = ADMIN_EMAIL
        self.admin_password = secrets.token_urlsafe(12)
        self.output_path = self.home / "up.out"
        self.faults_path = self.home / "faults"
        self.process: subprocess.Popen[bytes] | None = None
        self.env = _clean_environment() | {
            "HERMES_ENV_FILE": os.devnull,
            "HERMES_HOME": str(self.home),
            "HERMES_PORT": str(self.port),
            "HERMES_ADMIN_EMAIL": self.admin_email,
            "HERMES_ADMIN_PASSWORD": self.admin_password,
            "HERMES_FAULTS": str(self.faults_path),
            "HERMES_OFFLINE": "0",
            **settings,
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        """Start it without waiting; it ends with the process that calls this."""
        with self.output_path.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--tied"],
                cwd=ROOT,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def wait_ready(self, timeout: float = READY_TIMEOUT) -> Self:
        """Wait for the ready line; fails with the output and the logs' ends."""
        assert self.process is not None
        deadline = time.monotonic() + timeout
        while "Ready in" not in self.output():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the portal is not ready:\n{self.report()}")
            time.sleep(0.05)
        return self

    def stop(self, sign: int = signal.SIGTERM) -> int:
        """Stop it and return its exit code; fails when a process is left."""
        assert self.process is not None
        family = self.family()
        self.process.send_signal(sign)
        code = self.process.wait(60)
        wait_for(lambda: not [p for p in family if p.is_running()], "every process ended")
        self.process = None
        return code

    def pid(self, name: str) -> int:
        """The process id of ``web``, ``turns``, ``tools``, ``default``, ``beat`` …"""
        return int((self.home / "run" / f"{name}.pid").read_text())

    def kill(self, name: str, sign: int = signal.SIGKILL) -> int:
        """Signal one process and return the id that it had."""
        pid = self.pid(name)
        os.kill(pid, sign)
        return pid

    def wait_back(self, name: str, old: int) -> int:
        """Wait until ``name`` runs under another id than ``old``, and return that."""
        wait_for(lambda: self.pid(name) != old, f"{name} is back")
        return self.pid(name)

    def family(self) -> list[psutil.Process]:
        """Every process below the supervisor's."""
        assert self.process is not None
        family: list[psutil.Process] = psutil.Process(self.process.pid).children(recursive=True)
        return family

    def faults(self, *lines: str) -> None:
        """Arm fault points: ``point action [n]`` each (hermes_site.lib.faults)."""
        self.faults_path.write_text("".join(f"{line}\n" for line in lines))

    def manage(
        self, *arguments: str, stdin: str = "", check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a management command beside the running portal, with its settings."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=check,
        )

    def output(self) -> str:
        return self.output_path.read_text(errors="replace") if self.output_path.exists() else ""

    def log(self, name: str) -> str:
        path = self.home / "logs" / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def report(self) -> str:
        """What `up` said and the end of each log, for a failure's message."""
        names = sorted(path.stem for path in (self.home / "logs").glob("*.log"))
        ends = [f"--- {name}\n{self.log(name)[-2000:]}" for name in names]
        return "\n".join([self.output(), *ends])

    def __enter__(self) -> Self:
        try:
            return self.start().wait_ready()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what still runs and remove the temporary folder."""
        if self.process is not None and self.process.poll() is None:
            self.stop()
        if self._folder is not None:
            self._folder.cleanup()


def _clean_environment() -> dict[str, str]:
    def foreign(name: str) -> bool:
        return name.startswith(FOREIGN) or name.removesuffix("_FILE") in FOREIGN_NAMES

    return {name: value for name, value in os.environ.items() if not foreign(name)}
