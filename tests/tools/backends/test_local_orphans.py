"""A command does not outlive the worker that started it, however that ends."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.fakes.servers import wait_for
from tests.tools.backends.conftest import Host

REPOSITORY = Path(__file__).resolve().parents[3]
WORKER = """
import pathlib, sys
from tools.backends.local import BACKEND
BACKEND.execute(sys.argv[2], workspace=pathlib.Path(sys.argv[1]), timeout=60)
"""


def test_a_killed_worker_takes_its_command_along(host: Host) -> None:
    command = "setsid sh -c 'while :; do date +%s%N >alive; sleep 0.1; done' & wait"
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(host.workspace), command], cwd=REPOSITORY
    )
    alive = host.workspace / "alive"
    wait_for(alive.exists, "the command runs")
    worker.kill()
    worker.wait(10)
    time.sleep(1)  # what ends needs a moment
    before = alive.read_text()
    time.sleep(1)
    assert alive.read_text() == before
