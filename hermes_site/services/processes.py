"""The processes of a portal on one machine: one declarative row each, in start order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hermes_site.services import offline, valkey
from hermes_site.services.ports import free_port

# Beat remembers here when a job last ran, so that a daily job also runs on a machine that is
# switched off every night.
BEAT_OPTIONS = ("--scheduler", "celery.beat:PersistentScheduler")
CELERY = (sys.executable, "-m", "celery", "-A", "hermes_site")
# One portal has few workers and rows hold the state: they need not gossip about each other.
QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")


@dataclass(frozen=True)
class Options:
    """What the command lines depend on; ``server`` is ``daphne`` or ``uvicorn``."""

    home: Path
    host: str
    port: int
    server: str
    embedded_valkey: bool
    offline_model: bool


@dataclass(frozen=True)
class Process:
    """One row: its command line (made anew at each start), and how it ends.

    Stages stop one after the other, lowest first; ``grace`` s after SIGTERM comes SIGKILL.
    A ``forked`` row is a Python program that runs in a fork of the supervisor.
    """

    name: str
    command: Callable[[Options], list[str]]
    stage: int
    grace: float = 5
    wanted: Callable[[Options], bool] = lambda _: True
    forked: Callable[[], bool] = lambda: False


def table() -> list[Process]:
    """All rows. The web stops first, so that nobody is shown half a portal; Valkey last."""
    return [
        Process("valkey", _valkey, stage=4, wanted=lambda options: options.embedded_valkey),
        Process("web", _web, stage=0, forked=_no_reactor),
        Process("turns", _worker("turns", "threads", 4), stage=2, grace=10, forked=_always),
        Process("tools", _worker("tools", "prefork", 2), stage=2, grace=10, forked=_always),
        Process("default", _worker("default", "threads", 2), stage=2, grace=10, forked=_always),
        Process("beat", _beat, stage=1, forked=_always),
        Process("gateway", _gateway, stage=1, forked=_always),
        Process("offline", _offline, stage=3, wanted=lambda options: options.offline_model),
    ]


def _always() -> bool:
    return True


def _no_reactor() -> bool:
    """Daphne's event loop must not be shared by a parent that has one already."""
    return "twisted.internet.reactor" not in sys.modules


def _valkey(options: Options) -> list[str]:
    return valkey.command(directory=options.home / "run", socket_file=valkey.prepare(options.home))


def _web(options: Options) -> list[str]:
    app = "hermes_site.asgi:application"
    if options.server == "uvicorn":
        # Deflate costs CPU for every browser and token; the proxy in front compresses pages.
        flags = (
            "--workers 1 --ws websockets --ws-per-message-deflate false"
            " --no-access-log --log-level warning"
        )
        address = ["--host", options.host, "--port", str(options.port)]
        return [sys.executable, "-m", "uvicorn", *flags.split(), *address, app]
    return [sys.executable, "-m", "hermes_site.services.web", options.host, str(options.port)]


def _worker(queue: str, pool: str, size: int) -> Callable[[Options], list[str]]:
    flags = ["-Q", queue, "-P", pool, "-c", str(size), "-n", f"{queue}@%h", *QUIET]
    return lambda _: [*CELERY, "worker", *flags]


def _beat(options: Options) -> list[str]:
    schedule = ["--schedule", str(options.home / "run" / "beat")]
    return [*CELERY, "beat", *BEAT_OPTIONS, *schedule]


def _gateway(_: Options) -> list[str]:
    return [sys.executable, "manage.py", "gateway"]


def _offline(options: Options) -> list[str]:
    port = free_port()
    offline.port_path(options.home).write_text(str(port))
    return [sys.executable, "-m", "hermes_site.services.offline", "--port", str(port)]
