"""Ordinary commands in the box, and the box that must not open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tools.backends.conftest import Host
from tools.backends import local
from tools.backends.base import Backend
from tools.backends.local import BACKEND, LocalBackend
from tools.sandbox import box, process, seccomp


def test_it_is_a_healthy_backend() -> None:
    assert isinstance(BACKEND, Backend)
    assert BACKEND.name == "local"
    assert BACKEND.health_check().ok, BACKEND.health_check().detail


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("echo hello", "hello\n", 0),
        ("pwd", "/workspace\n", 0),
        ("exit 3", "", 3),
        ("kill -9 $$", "", 137),
        ("no-such-program", None, 127),
        ("echo out; echo err >&2", "out\nerr\n", 0),
        ("exec >&- 2>&-; sleep 0.2; exit 4", "", 4),
        ("printf 'a b' | wc -c", "3\n", 0),
        ("id -un; echo $HOME", "agent\n/home/agent\n", 0),
        ("echo x >$HOME/f && cat $HOME/f && touch /tmp/t", "x\n", 0),
        ("python3 -c 'import ssl, sqlite3, multiprocessing; print(6*7)'", "42\n", 0),
        ("python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0)); print(1)'", "1\n", 0),
        (
            "git init -q r && cd r && git commit -q --allow-empty -m x && git log --format=%s",
            "x\n",
            0,
        ),
    ],
)
def test_commands(host: Host, command: str, output: str | None, code: int) -> None:
    result = host.run(command)
    assert (result.exit_code, result.error, result.timed_out, result.truncated) == (
        code,
        None,
        False,
        False,
    )
    if output is not None:
        assert result.output == output


def test_files_stay_and_folders_can_be_entered(host: Host) -> None:
    host.run("mkdir -p a/b; echo 1 >a/b/f")
    assert (host.workspace / "a/b/f").read_text() == "1\n"
    assert host.run("pwd; cat f", cwd="a/b").output == "/workspace/a/b\n1\n"
    assert host.run("pwd", cwd="/workspace/a").output == "/workspace/a\n"


@pytest.mark.parametrize(
    "cwd", ["..", "a/../..", "/etc", "/workspaces", "missing", "f", "a\0b", "l"]
)
def test_other_folders_cannot(host: Host, cwd: str) -> None:
    (host.workspace / "f").write_text("")
    (host.workspace / "l").symlink_to(host.top)
    result = host.run("pwd", cwd=cwd)
    assert (result.output, result.exit_code) == ("", None)
    assert repr(cwd.removeprefix("/workspace/"))[1:-1] in (result.error or "")


def test_input_and_environment(host: Host) -> None:
    text = "héllo\n" * 50_000
    assert host.run("cat", stdin=text).output == text
    assert host.run("true", stdin=text).exit_code == 0
    assert host.run("cat").output == ""
    env = {
        "GREETING": "hi there",
        "LD_PRELOAD": "/x.so",
        "BASH_ENV": "/x",
        "PATH": "/x",
        "a b": "c",
    }
    result = host.run(
        'echo "$GREETING"; env | grep -cE "PRELOAD|BASH_ENV|a b"; echo $PATH', env=env
    )
    assert result.output.splitlines()[:2] == ["hi there", "0"]
    assert result.output.splitlines()[2].startswith("/usr/local/bin:/usr/bin")


def test_output_is_decoded_across_pieces(host: Host) -> None:
    pieces: list[str] = []
    result = host.run(
        r"printf 'a\xc3'; sleep 0.1; printf '\xa9\xff\x00\xe2\x82'", on_output=pieces.append
    )
    assert result.output == "aé\ufffd\x00\ufffd"
    assert "".join(pieces) == result.output
    assert pieces[0] == "a"


@pytest.mark.parametrize("command", ["echo \0", "#" * 130_000])
def test_commands_that_cannot_be_passed_on(host: Host, command: str) -> None:
    result = host.run(command)
    assert result.exit_code is None
    assert "120000 bytes" in (result.error or "")


def test_a_workspace_behind_a_link_works(host: Host, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(host.workspace)
    assert BACKEND.execute("echo 1 >f; cat f", workspace=link).output == "1\n"
    assert (host.workspace / "f").read_text() == "1\n"


def test_a_program_can_be_kept_running(host: Host) -> None:
    running = BACKEND.start(["cat"], workspace=host.workspace, stdin=True)
    try:
        assert running.popen.stdin is not None
        assert running.popen.stdout is not None
        running.popen.stdin.write(b"ping\n")
        assert running.popen.stdout.read(5) == b"ping\n"
    finally:
        running.destroy()
    assert running.popen.returncode == 137


def test_boxes_of_one_workspace_run_side_by_side(host: Host) -> None:
    running = BACKEND.start(["sleep", "30"], workspace=host.workspace)
    try:
        assert host.run("echo 1; ps ax | grep -c '[s]leep'").output == "1\n0\n"
    finally:
        running.destroy()


# Fail closed: each wall is taken away in turn, and the self-test must notice.


def refuses(backend: LocalBackend, host: Host, why: str) -> None:
    health = backend.health_check()
    assert not health.ok
    assert why in health.detail
    result = backend.execute("echo ran; touch ran", workspace=host.workspace)
    assert (result.output, result.exit_code) == ("", None)
    assert why in (result.error or "")
    assert not (host.workspace / "ran").exists()


def test_without_bubblewrap_nothing_runs(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_bwrap", lambda: None)
    monkeypatch.setattr(box, "find_bwrap", lambda: None)
    refuses(LocalBackend(), host, "not installed")


def test_with_a_bubblewrap_that_fails_nothing_runs(
    host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(box, "find_bwrap", lambda: str(fake))
    refuses(LocalBackend(), host, "No permissions to create new namespace")


def test_on_an_unknown_architecture_nothing_runs(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local.platform, "machine", lambda: "riscv64")
    refuses(LocalBackend(), host, "no system-call filter for riscv64")


def test_processes_of_the_host_are_noticed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, box, "_namespaces", "--unshare-pid", "--as-pid-1")
    refuses(LocalBackend(), host, "only own processes")


def without(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *left_out: str) -> None:
    """Leave ``left_out`` out of what the function ``name`` returns."""
    real = getattr(owner, name)
    monkeypatch.setattr(
        owner, name, lambda *args: [word for word in real(*args) if word not in left_out]
    )


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--unshare-net", "no network interface but lo"),
        ("--unshare-net", "loopback is out of reach"),
        ("--unshare-ipc", "the ipc namespace is its own"),
        ("--clearenv", "environment is clean"),
    ],
)
def test_a_missing_namespace_is_noticed(
    host: Host, monkeypatch: pytest.MonkeyPatch, option: str, why: str
) -> None:
    if option == "--clearenv":
        monkeypatch.setattr(process, "ENVIRONMENT", process.ENVIRONMENT | {"API_KEY": "x"})
    without(monkeypatch, box, "_namespaces", option)
    refuses(LocalBackend(), host, why)


def test_a_filter_that_allows_everything_is_noticed(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow = seccomp._step(0x06, 0x7FFF0000)
    monkeypatch.setattr(seccomp, "program", lambda: allow)
    refuses(LocalBackend(), host, "tracing is refused")


@pytest.mark.parametrize(
    ("folder", "why"),
    [("/tmp", "a file outside is unreadable"), ("@CODE@", "own code is invisible")],
)
def test_a_folder_too_many_is_noticed(
    host: Host, monkeypatch: pytest.MonkeyPatch, folder: str, why: str
) -> None:
    shown = folder.replace("@CODE@", str(Path(local.__file__).resolve().parents[2]))
    real = box._file_system
    added = ["--ro-bind", shown, shown]
    for above in Path(shown).parents:
        added = ["--perms", "0755", "--dir", str(above), *added]
    monkeypatch.setattr(box, "_file_system", lambda *args: [*real(*args)[:-6], *added])
    refuses(LocalBackend(), host, why)


def test_a_writable_root_is_noticed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    real = box._file_system
    opened = ["--perms", "1777", "--tmpfs", "/run"]
    monkeypatch.setattr(box, "_file_system", lambda *args: [*real(*args), *opened])
    refuses(LocalBackend(), host, "nothing outside the workspace can be written")


def test_a_failed_self_test_is_repeated_later(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = LocalBackend()
    monkeypatch.setattr(local, "find_bwrap", lambda: None)
    assert not backend.health().ok
    monkeypatch.undo()
    assert not backend.health().ok
    monkeypatch.setattr(local, "_RETRY", 0)
    assert backend.health().ok


def test_folders_of_the_portal_below_a_system_folder_are_hidden(tmp_path: Path) -> None:
    found = box.hidden_folders(box.Box(Path("/usr/local/hermes/workspaces/u1")))
    assert "/usr/local/hermes" in found
    assert not any(path in ("/usr", "/usr/local") for path in found)
    assert box.hidden_folders(box.Box(tmp_path, hidden=(Path("/usr/share/x"),))) == ["/usr/share/x"]
