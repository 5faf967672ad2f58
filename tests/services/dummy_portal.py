"""A supervisor over dummy processes, run by test_supervisor.py as a program: HOME [stubborn].

``first`` runs in a fork, the others as programs of their own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hermes_site.lib.errors import ConfigError
from hermes_site.services.home_lock import HomeLock
from hermes_site.services.processes import Options, Process
from hermes_site.services.supervisor import Supervisor, guarded

SLEEP = "import time; time.sleep(600)"
# Ignores SIGTERM, and has a child in the same session and a grandchild in its own.
STUBBORN = (
    "import signal, subprocess, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "subprocess.Popen([sys.executable, '-c', '"
    "import subprocess, time;"
    'subprocess.Popen(["sleep", "601"], start_new_session=True); time.sleep(600)'
    "'])\n"
    "time.sleep(600)"
)
LAST_WORDS = (
    "import signal, sys, time\n"
    "def bye(*_):\n"
    "    open(sys.argv[1], 'a').write(sys.argv[2] + '\\n'); sys.exit()\n"
    "signal.signal(signal.SIGTERM, bye)\n"
    "print('hello from ' + sys.argv[2], flush=True)\n"
    "time.sleep(600)"
)


def row(name: str, code: str, stage: int, grace: float = 5) -> Process:
    return Process(
        name,
        lambda options: [sys.executable, "-c", code, str(options.home / "order"), name],
        stage=stage,
        grace=grace,
    )


def forked_row(name: str, code: str, stage: int) -> Process:
    def command(options: Options) -> list[str]:
        file = options.home / f"{name}.py"
        file.write_text(code)
        return [sys.executable, str(file), str(options.home / "order"), name]

    return Process(name, command, stage=stage, forked=lambda: True)


def inner(home: Path) -> int:
    lock = HomeLock(home)
    try:
        lock.take(os.getppid())
    except ConfigError as error:
        print(error.message, flush=True)
        return 1
    rows = [row("last", LAST_WORDS, 4), forked_row("first", LAST_WORDS, 0)]
    if "stubborn" in sys.argv:
        rows.append(row("stubborn", STUBBORN, 2, grace=0.3))
    options = Options(home, "127.0.0.1", 1, "daphne", False, False)
    supervisor = Supervisor(rows, options, say=lambda line: print(line, flush=True))
    logs = [home / "logs" / f"{name}.log" for name in ("first", "last")]
    supervisor.run(
        ready=lambda: all("hello" in log.read_text() for log in logs),
        on_ready=lambda: print("READY", flush=True),
        on_stop=lambda: lock.stopping(os.getppid()),
    )
    return 0


if __name__ == "__main__":
    sys.exit(guarded(lambda: inner(Path(sys.argv[1]))))
