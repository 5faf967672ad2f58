"""The supervisor with dummy processes: order, restart, locks, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
DUMMY = Path(__file__).with_name("dummy_portal.py")


def wait_until(true: Callable[[], object], what: str, timeout: float = 20) -> None:
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.02)


class Dummy:
    """A running dummy_portal.py with its output read line by line."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, str(DUMMY), str(home), *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )

    def line(self, start: str) -> str:
        """The next line that begins with ``start``."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(start):
                return line.strip()
        raise AssertionError(f"it ended without saying {start!r}")

    def pid(self, name: str) -> int:
        return int((self.home / "run" / f"{name}.pid").read_text())

    def family(self) -> list[psutil.Process]:
        family: list[psutil.Process] = psutil.Process(self.process.pid).children(recursive=True)
        return family

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Dummy]]:
    started: list[Dummy] = []

    def start(*arguments: str) -> Dummy:
        started.append(Dummy(tmp_path, *arguments))
        return started[-1]

    yield start
    for dummy in started:
        dummy.end()


def gone(family: list[psutil.Process]) -> None:
    wait_until(lambda: not [p for p in family if p.is_running()], f"all of {family} ended")


def test_stops_in_order_and_leaves_nothing(start: Callable[..., Dummy], tmp_path: Path) -> None:
    dummy = start()
    dummy.line("READY")
    family = dummy.family()
    assert len(family) == 3
    dummy.process.send_signal(signal.SIGTERM)
    assert dummy.process.wait(20) == 0
    gone(family)
    assert (tmp_path / "order").read_text().split() == ["first", "last"]
    assert list((tmp_path / "run").glob("*.pid")) == []


def test_ctrl_c_to_the_whole_terminal_is_one_stop(
    start: Callable[..., Dummy], tmp_path: Path
) -> None:
    dummy = start()
    dummy.line("READY")
    os.killpg(dummy.process.pid, signal.SIGINT)
    assert dummy.process.wait(20) == 0
    assert (tmp_path / "order").read_text().split() == ["first", "last"]


def test_a_killed_process_returns_with_a_new_pid(start: Callable[..., Dummy]) -> None:
    dummy = start()
    dummy.line("READY")
    old = dummy.pid("first")
    os.kill(old, signal.SIGKILL)
    assert dummy.line("first ended").startswith("first ended (signal 9), starts again in 0.2 s.")
    dummy.line("first is back")
    new = dummy.pid("first")
    assert new != old
    assert psutil.pid_exists(new)
    os.kill(new, signal.SIGKILL)
    assert "starts again in 0.4 s" in dummy.line("first ended")


def test_a_killed_leader_takes_its_descendants_along(start: Callable[..., Dummy]) -> None:
    dummy = start("stubborn")
    dummy.line("READY")
    leader = psutil.Process(dummy.pid("stubborn"))
    wait_until(lambda: len(leader.children(recursive=True)) == 2, "the whole family is there")
    descendants = leader.children(recursive=True)
    leader.kill()
    dummy.line("stubborn is back")
    gone(descendants)


def test_whoever_ignores_sigterm_is_killed_with_its_family(start: Callable[..., Dummy]) -> None:
    dummy = start("stubborn")
    dummy.line("READY")
    leader = psutil.Process(dummy.pid("stubborn"))
    wait_until(lambda: len(leader.children(recursive=True)) == 2, "the whole family is there")
    family = dummy.family()
    assert len(family) == 6
    dummy.process.send_signal(signal.SIGTERM)
    assert dummy.process.wait(20) == 0
    gone(family)


@pytest.mark.parametrize("victim", ["outer", "inner"])
def test_sigkill_to_the_supervisor_leaves_nothing(
    start: Callable[..., Dummy], tmp_path: Path, victim: str
) -> None:
    dummy = start("stubborn")
    dummy.line("READY")
    leader = psutil.Process(dummy.pid("stubborn"))
    wait_until(lambda: len(leader.children(recursive=True)) == 2, "the whole family is there")
    family = dummy.family()
    inner = psutil.Process(dummy.process.pid).children()[0]
    (psutil.Process(dummy.process.pid) if victim == "outer" else inner).kill()
    dummy.process.wait(20)
    gone(family)
    if victim == "outer":
        assert (tmp_path / "order").read_text().split() == ["first", "last"]


def test_a_second_supervisor_is_refused_by_name(start: Callable[..., Dummy]) -> None:
    first = start()
    first.line("READY")
    second = start()
    said = second.line("A portal already runs")
    assert f"(process {first.process.pid})" in said
    assert "HERMES_HOME" in said
    assert second.process.wait(20) == 1
    assert psutil.pid_exists(first.pid("first"))


def test_a_new_supervisor_waits_for_one_that_is_stopping(start: Callable[..., Dummy]) -> None:
    first = start("stubborn")
    first.line("READY")
    first.process.kill()
    lock = first.home / "run" / "up.lock"
    wait_until(lambda: "stopping" in lock.read_text(), "the first one stops")
    second = start()
    second.line("READY")
    assert second.process.poll() is None
