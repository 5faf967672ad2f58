"""A user's files: everything inside works, and nothing leads outside."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from hermes_site.lib.errors import ModelRecoverable
from tools import beneath, workspace
from tools.workspace import MAX_FILE, Workspace, parts_of, workspace_for

CANARY = b"canary-51d0"


@pytest.fixture(params=["openat2", "walk"])
def space(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Workspace:
    """Both ways of opening: the kernel's, and the walk for kernels without it."""
    if request.param == "walk":

        def missing(*args: object, **options: object) -> int:
            raise OSError(errno.ENOSYS, "no such call")

        monkeypatch.setattr(beneath, "openat2", missing)
    root = tmp_path / "ws" / "u1"
    root.mkdir(parents=True)
    for neighbour in ("u10", "u1_backup"):
        (tmp_path / "ws" / neighbour).mkdir()
        (tmp_path / "ws" / neighbour / "x").write_bytes(CANARY)
    (tmp_path / "canary").write_bytes(CANARY)
    return Workspace(root)


def outside(space: Workspace) -> dict[str, bytes]:
    top = space.root.parents[1]
    files = (path for path in top.rglob("*") if space.root not in path.parents and path.is_file())
    return {str(path): path.read_bytes() for path in files}


def test_the_kernel_here_has_openat2(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    root = os.open(tmp_path, os.O_PATH)
    fd = beneath.openat2(root, b"f", os.O_RDONLY)
    assert os.read(fd, 9) == b"x"
    os.close(fd)
    with pytest.raises(OSError) as caught:
        beneath.openat2(root, b"../" + os.fsencode(tmp_path.name) + b"/f", os.O_RDONLY)
    assert caught.value.errno == errno.EXDEV
    os.close(root)


def test_write_read_list_stat_move_delete(space: Workspace) -> None:
    assert space.write("a/b/c.txt", b"hello") == 5
    assert space.read("a/b/c.txt") == space.read("/workspace/a/b/c.txt") == b"hello"
    assert space.read("./a//b/./c.txt") == b"hello"
    entry = space.stat("a/b/c.txt")
    assert (entry.path, entry.kind, entry.size) == ("a/b/c.txt", "file", 5)
    space.mkdirs("a/d/e")
    space.mkdirs("a/d")
    assert [(e.path, e.kind) for e in space.list("a")] == [("a/b", "folder"), ("a/d", "folder")]
    assert [e.path for e in space.walk()] == ["a", "a/b", "a/b/c.txt", "a/d", "a/d/e"]
    assert [e.path for e in space.walk(skip=frozenset({"b"}), depth=2)] == ["a", "a/b", "a/d"]
    space.move("a/b/c.txt", "z/c.txt")
    assert space.read("z/c.txt") == b"hello"
    assert space.delete("a", recursive=True) == 4
    assert [e.path for e in space.list("/workspace")] == ["z"]


def test_replacing_keeps_the_mode_and_leaves_nothing_else(space: Workspace) -> None:
    space.write("run.sh", b"1")
    (space.root / "run.sh").chmod(0o755)
    space.write("run.sh", b"2")
    assert stat.S_IMODE((space.root / "run.sh").stat().st_mode) == 0o755
    assert [path.name for path in space.root.iterdir()] == ["run.sh"]


def test_a_reader_sees_the_old_or_the_new_file_whole(space: Workspace) -> None:
    contents = [bytes([letter]) * 300_000 for letter in b"ab"]
    space.write("f", contents[0])
    done = threading.Event()

    def write() -> None:
        for turn in range(40):
            space.write("f", contents[turn % 2])
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    seen = 0
    while not done.is_set() or not seen:
        assert space.read("f") in contents
        seen += 1
    thread.join()


ACTIONS: dict[str, Callable[[Workspace, str], object]] = {
    "read": lambda space, path: space.read(path),
    "write": lambda space, path: space.write(path, b"changed"),
    "list": lambda space, path: space.list(path),
    "walk": lambda space, path: list(space.walk(path)),
    "stat": lambda space, path: space.stat(path),
    "mkdirs": lambda space, path: space.mkdirs(path),
    "delete": lambda space, path: space.delete(path, recursive=True),
    "move from": lambda space, path: space.move(path, "new"),
    "move to": lambda space, path: space.move("mine", path),
    "open": lambda space, path: space.open_path(path),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    "path",
    [
        "../u10/x",
        "..",
        "a/../../u10/x",
        "/workspace/../canary",
        "/workspaces/x",
        "/workspace_backup/x",
        "/etc/passwd",
        "/",
        "@ROOT@/mine",
        "@ROOT@0/x",
        "link/x",
        "link/new/deep",
        "absolute/canary",
        "absolute/new/deep/file",
        "chain/x",
        "up/u10/x",
    ],
)
def test_what_leads_outside_gets_one_answer(space: Workspace, action: str, path: str) -> None:
    (space.root / "mine").write_text("mine")
    (space.root / "link").symlink_to("../u10")
    (space.root / "absolute").symlink_to(space.root.parents[1])
    (space.root / "chain").symlink_to("link")
    (space.root / "up").symlink_to("..")
    before = outside(space)
    path = path.replace("@ROOT@", str(space.root))
    with pytest.raises(ModelRecoverable) as caught:
        ACTIONS[action](space, path)
    assert caught.value.message == (
        f"{path!r} is not inside the workspace. Use a path below /workspace, without '..' or "
        "links that lead out."
    )
    assert outside(space) == before
    assert (space.root / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    "target", ["../../canary", "@TOP@/canary", "/etc/passwd", "/proc/self/environ"]
)
def test_a_link_itself_to_the_outside(space: Workspace, target: str) -> None:
    target = target.replace("@TOP@", str(space.root.parents[1]))
    link = space.root / "l"
    link.symlink_to(target)
    before = outside(space)
    for action in ("read", "write", "list", "walk", "stat", "mkdirs", "open"):
        with pytest.raises(ModelRecoverable, match="is not inside the workspace"):
            ACTIONS[action](space, "l")
    assert [(e.path, e.kind) for e in space.walk()] == [("l", "link")]
    assert space.delete("l", recursive=True) == 1
    assert outside(space) == before


def test_links_that_stay_inside_work(space: Workspace) -> None:
    space.write("real/f", b"1")
    (space.root / "short").symlink_to("real")
    (space.root / "shown").symlink_to("/workspace/real/f")
    (space.root / "real/up").symlink_to("../real/./f")
    (space.root / "dangling").symlink_to("real/new")
    assert space.read("short/f") == space.read("shown") == space.read("short/up") == b"1"
    space.write("shown", b"2")
    assert (space.root / "shown").is_symlink()
    assert (space.root / "real/f").read_bytes() == b"2"
    space.write("dangling", b"3")
    assert space.read("real/new") == b"3"
    assert [e.path for e in space.list("short")] == ["short/f", "short/new", "short/up"]


def test_a_root_behind_a_link_works(space: Workspace, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(space.root)
    alias = Workspace(tmp_path / "alias")
    alias.write("f", b"1")
    assert space.read("f") == alias.read("f") == b"1"


def test_loops_of_links_end(space: Workspace) -> None:
    (space.root / "a").symlink_to("b")
    (space.root / "b").symlink_to("a")
    for action in ("read", "write", "stat"):
        with pytest.raises(ModelRecoverable, match="too many links"):
            ACTIONS[action](space, "a")


def test_only_regular_files_are_opened(space: Workspace) -> None:
    os.mkfifo(space.root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(space.root)
        listener.bind("sock")
        os.chdir(here)
        for name in ("fifo", "sock"):
            for action in ("read", "write"):
                with pytest.raises(ModelRecoverable, match="not a regular file"):
                    ACTIONS[action](space, name)
            assert space.stat(name).kind == "other"
    if os.geteuid() == 0:
        try:
            os.mknod(space.root / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        except PermissionError:
            return  # a container without CAP_MKNOD has no devices to refuse
        with pytest.raises(ModelRecoverable, match="not a regular file"):
            space.read("zero")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("a\0b", "NUL"),
        ("\ud800", "not valid text"),
        ("x" * 256, "too long"),
        ("é" * 128, "too long"),
        ("a/" * 2100, "too long"),
        ("missing", "does not exist"),
        ("f/x", "not a folder"),
        (".", "is a folder"),
    ],
)
def test_paths_that_cannot_be_read(space: Workspace, path: str, words: str) -> None:
    (space.root / "f").write_text("")
    with pytest.raises(ModelRecoverable, match=words):
        space.read(path)


@pytest.mark.parametrize(
    "name",
    ["-rf", "a b", "ünï", "u\u0308", "日本", "🙂", "a\\b", "...", "CON", "a'\"$(x)", "x" * 255],
)
def test_odd_names_are_only_names(space: Workspace, name: str) -> None:
    space.write(f"d/{name}", b"1")
    assert [e.path for e in space.list("d")] == [f"d/{name}"]
    assert space.read(f"d/{name}") == b"1"


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "\x1b[2J", "\x7f"])
def test_new_names_hold_no_control_characters(space: Workspace, name: str) -> None:
    with pytest.raises(ModelRecoverable, match="control characters"):
        space.write(name, b"1")


def test_names_that_are_not_utf8_are_shown_and_do_no_harm(space: Workspace) -> None:
    (Path(os.fsdecode(os.fsencode(space.root) + b"/\xff"))).write_bytes(b"1")
    assert [e.path for e in space.list()] == ["\ufffd"]


def test_sizes_are_bounded(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelRecoverable, match="at most 10485760"):
        space.write("big", b"x" * (MAX_FILE + 1))
    with open(space.root / "sparse", "wb") as file:
        file.truncate(MAX_FILE + 1)
    with pytest.raises(ModelRecoverable, match="at most 10485760"):
        space.read("sparse")
    monkeypatch.setattr(workspace, "QUOTA", 50_000)
    space.write("a", b"x" * 40_000)
    with pytest.raises(ModelRecoverable, match="workspace is full"):
        space.write("b", b"x" * 40_000)
    assert not (space.root / "b").exists()


def test_a_folder_with_something_in_it_goes_only_when_asked(space: Workspace) -> None:
    space.write("d/f", b"1")
    with pytest.raises(ModelRecoverable, match="not empty; say recursive"):
        space.delete("d")
    for path in (".", "/workspace", "/workspace/"):
        with pytest.raises(ModelRecoverable, match="workspace itself"):
            space.delete(path, recursive=True)
    assert space.read("d/f") == b"1"


def test_deleting_follows_no_links(space: Workspace, tmp_path: Path) -> None:
    before = outside(space)
    space.write("d/e/f", b"1")
    (space.root / "d/e/l").symlink_to(tmp_path)
    assert space.delete("d", recursive=True) == 4
    assert outside(space) == before


def test_moving_overwrites_nothing(space: Workspace) -> None:
    space.write("a", b"1")
    space.write("b", b"2")
    space.mkdirs("d")
    with pytest.raises(ModelRecoverable, match="exists already"):
        space.move("a", "b")
    with pytest.raises(ModelRecoverable, match="does not exist"):
        space.move("missing", "c")
    with pytest.raises(ModelRecoverable, match="cannot be used so"):
        space.move("d", "d/e")
    assert (space.read("a"), space.read("b")) == (b"1", b"2")


def _tidy(root: Path) -> None:
    """Take away what the tries made, so that the swapping can go on."""
    shutil.rmtree(root / "real/canary", ignore_errors=True)
    with contextlib.suppress(OSError):
        (root / "real/canary").unlink()
    if not (root / "d").is_symlink():
        shutil.rmtree(root / "d", ignore_errors=True)
    if (root / "evil").is_dir() and not (root / "evil").is_symlink():
        shutil.rmtree(root / "evil", ignore_errors=True)
    with contextlib.suppress(OSError):
        (root / "real").mkdir()
    with contextlib.suppress(OSError):
        (root / "evil").symlink_to(root.parents[1])


def test_swapping_a_folder_for_a_link_never_leads_out(space: Workspace) -> None:
    """The race behind every check of a path before its use."""
    top = space.root.parents[1]
    (space.root / "real").mkdir()
    (space.root / "evil").symlink_to(top)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for name in ("real", "evil"):
                with contextlib.suppress(OSError):  # a write has just made a folder there
                    os.rename(space.root / name, space.root / "d")
                    os.rename(space.root / "d", space.root / name)

    before = outside(space)
    thread = threading.Thread(target=swap)
    thread.start()
    refused = reached = 0
    try:
        for _ in range(400):
            for action in ("read", "write", "mkdirs"):
                try:
                    assert ACTIONS[action](space, "d/canary") != CANARY
                    reached += 1
                except ModelRecoverable as error:
                    refused += "not inside" in error.message
            _tidy(space.root)
    finally:
        stop.set()
        thread.join()
    assert refused
    assert reached
    assert outside(space) == before


def test_workspaces_are_by_id_and_private(tmp_path: Path) -> None:
    user = UUID("019300000000700080000000000000aa")
    root = workspace_for(tmp_path, user)
    assert root == tmp_path / "workspaces" / str(user) == workspace_for(tmp_path, user)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    other = workspace_for(tmp_path, uuid4())
    if os.geteuid() == 0:
        assert 0 not in (root.stat().st_uid, other.stat().st_uid)
        assert root.stat().st_uid != other.stat().st_uid
        Workspace(root).write("d/f", b"1")
        assert {p.stat().st_uid for p in root.rglob("*")} == {root.stat().st_uid}


@pytest.mark.parametrize(
    ("path", "parts"),
    [("", ()), (".", ()), ("/workspace", ()), ("/workspace//a/", ("a",)), ("a/./b", ("a", "b"))],
)
def test_parts(path: str, parts: tuple[str, ...]) -> None:
    assert parts_of(path) == parts


def test_no_descriptor_is_left_open(space: Workspace) -> None:
    space.write("d/f", b"1")
    (space.root / "l").symlink_to("/etc")
    before = len(os.listdir("/proc/self/fd"))
    for action, run in ACTIONS.items():
        for path in ("l/x", "missing/x", "d", "..", "d/f/x"):
            if action in ("open", "delete", "move from", "move to"):
                continue
            try:
                run(space, path)
            except ModelRecoverable:
                continue
    next(space.walk())
    assert len(os.listdir("/proc/self/fd")) == before
