"""Runaway commands: bounded while they run, gone when they end."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from uuid import uuid4

import pytest

from tests.tools.backends.conftest import Host
from tools.backends.local import BACKEND, LocalBackend
from tools.sandbox import watch
from tools.sandbox.box import Limits

MIB = 1024 * 1024


def left_over(marker: str) -> list[str]:
    """Command lines of this machine's processes that hold ``marker``."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            line = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, UnicodeDecodeError):
            continue
        if marker in line and entry != str(os.getpid()):
            found.append(line)
    return found


@pytest.fixture
def marker() -> str:
    return f"marker-{uuid4().hex}"


def test_a_fork_bomb_meets_the_process_limit_and_dies(host: Host, marker: str) -> None:
    result = host.run(f": {marker}; b() {{ b | b & }}; b; sleep 20", timeout=1)
    assert result.timed_out
    assert result.exit_code is None
    assert "esource temporarily unavailable" in result.output
    assert left_over(marker) == []


def test_processes_are_counted(host: Host) -> None:
    script = "my $n = 0; while ($n < 2000) { last unless defined(my $p = fork); "
    script += "if (!$p) { sleep 9; exit } $n++ } print $n"
    count = int(host.run(f"perl -e '{script}'").output)
    assert 200 < count < 256


def test_one_process_cannot_take_more_memory(host: Host) -> None:
    result = host.run("python3 -c 'bytearray(3 << 30)'")
    assert "MemoryError" in result.output
    assert result.exit_code == 1


def test_many_processes_together_cannot_either(host: Host, marker: str) -> None:
    backend = LocalBackend(Limits(memory=300 * MIB))
    hog = f"python3 -c 'import time; x = bytearray(200 << 20); time.sleep(20)' {marker} & "
    result = backend.execute(hog * 3 + "wait", workspace=host.workspace, timeout=20)
    assert result.error == "Memory limit of 300 MiB reached."
    assert left_over(marker) == []


def test_scratch_folders_are_small(host: Host) -> None:
    places = ("/tmp", "/var/tmp", "/dev/shm", "$HOME")
    result = host.run("; ".join(f"head -c 300M /dev/zero >{place}/x; echo $?" for place in places))
    assert result.output.count("No space left on device") == 4
    assert [line for line in result.output.splitlines() if len(line) == 1] == ["1"] * 4


def test_a_file_has_a_largest_size(host: Host) -> None:
    backend = LocalBackend(Limits(file_size=4 * MIB))
    result = backend.execute("head -c 9M /dev/zero >big", workspace=host.workspace)
    assert result.exit_code != 0
    assert (host.workspace / "big").stat().st_size == 4 * MIB


def test_filling_the_disk_is_stopped(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch.Watch.__init__, "__defaults__", (20 * MIB,))
    result = host.run("i=0; while :; do head -c 1M /dev/zero >f$i; i=$((i+1)); sleep 0.02; done")
    assert result.error == "Workspace quota of 20 MiB reached."
    assert result.exit_code is None


def test_endless_output_is_cut_and_stopped(host: Host) -> None:
    pieces: list[str] = []
    result = host.run("yes", timeout=20, on_output=pieces.append)
    assert result.error == "Stopped: more than 64 MiB of output."
    assert result.truncated
    assert 990_000 < len(result.output) < 1_010_000
    assert sum(map(len, pieces)) == 1_000_000


def test_long_output_keeps_its_beginning_and_end(host: Host) -> None:
    result = host.run("seq 1 400000")
    assert result.exit_code == 0
    assert result.truncated
    assert result.output.startswith("1\n2\n3\n")
    assert result.output.endswith("\n399999\n400000\n")
    whole = "".join(f"{number}\n" for number in range(1, 400001))
    note = f"\n[… {len(whole) - 1_000_000} characters left out …]\n"
    assert result.output == whole[:500_000] + note + whole[-500_000:]


@pytest.mark.parametrize(
    "start",
    [
        "sleep 77 & disown",
        "setsid sleep 77 >/dev/null 2>&1 </dev/null &",
        "nohup setsid sh -c 'trap \"\" TERM HUP INT; sleep 77' >/dev/null 2>&1 &",
        "(setsid sh -c '(sleep 77 &)' &)",
        "python3 -c 'import os, time; os.fork() or (os.setsid(), os.fork() or time.sleep(77))'",
    ],
)
def test_nothing_is_left_running(host: Host, marker: str, start: str) -> None:
    result = host.run(f"exec -a {marker} bash -c '' ; : {marker}; {start}\necho started")
    assert "started" in host.run(f"{start}\necho started").output
    assert result.error is None
    assert left_over("sleep 77") == []
    assert left_over("time.sleep(77)") == []


def test_a_timeout_ends_all_of_it(host: Host, marker: str) -> None:
    command = f"trap '' TERM INT HUP; sh -c 'trap \"\" TERM; sleep 78 # {marker}' & echo on; wait"
    result = host.run(command, timeout=0.5)
    assert result.timed_out
    assert result.exit_code is None
    assert result.output == "on\n"
    assert "Timed out after 0.5 s" in (result.error or "")
    assert left_over(marker) == []


def test_cancelling_ends_all_of_it(host: Host, marker: str) -> None:
    stop = threading.Event()
    result = host.run(
        f"echo on; sleep 79; : {marker}",
        timeout=30,
        on_output=lambda text: stop.set(),
        cancelled=stop.is_set,
    )
    assert (result.error, result.exit_code, result.timed_out) == ("Cancelled.", None, False)
    assert result.output == "on\n"
    assert left_over(marker) == []


def test_a_fault_of_the_listener_leaves_nothing_behind(host: Host, marker: str) -> None:
    def broken(text: str) -> None:
        raise RuntimeError("the browser is gone")

    with pytest.raises(RuntimeError):
        host.run(f"echo on; sleep 79; : {marker}", on_output=broken)
    assert left_over(marker) == []


def test_descriptors_of_the_portal_do_not_pile_up(host: Host) -> None:
    host.run("true")
    before = len(os.listdir("/proc/self/fd"))
    for command in ("true", "exit 3", "cat", "sleep 9"):
        host.run(command, timeout=0.3, stdin="x")
    host.run("true", cwd="missing")
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("by_itself", [True, False])
def test_no_zombie_is_left_for_the_init_of_the_machine(host: Host, by_itself: bool) -> None:
    running = BACKEND.start(["cat"], workspace=host.workspace, stdin=True)
    pid = running.popen.pid
    first = Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()
    assert Path(f"/proc/{first}/status").exists()
    if by_itself:
        assert running.popen.stdin is not None
        running.popen.stdin.close()
        assert running.popen.wait() == 0
    running.destroy()
    assert not Path(f"/proc/{first}").exists()
