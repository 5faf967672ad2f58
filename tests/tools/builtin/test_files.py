"""The file tools as the model meets them."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from hermes_site.lib.errors import ModelRecoverable
from tools import searching
from tools.backends.local import BACKEND
from tools.builtin import files, files_edit, system
from tools.declare import Tool, ToolContext

ALL = {tool.name: tool for tool in (*files.TOOLS, *files_edit.TOOLS, *system.TOOLS)}


class Tools:
    """Calls tools by name in one workspace; ``result`` is what the model reads."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.context = ToolContext(
            user=SimpleNamespace(timezone="Asia/Shanghai"),
            session_id=uuid4(),
            run_id=None,
            call_id=uuid4(),
            workspace=root,
            backend=BACKEND,
        )

    def answer(self, name: str, **arguments: Any) -> dict[str, Any]:
        answer = ALL[name].fn(self.context, **arguments)
        assert answer["success"] is True
        return answer

    def __call__(self, name: str, **arguments: Any) -> str:
        return str(self.answer(name, **arguments)["result"])


@pytest.fixture
def call(tmp_path: Path) -> Tools:
    root = tmp_path / "u1"
    root.mkdir()
    (tmp_path / "canary").write_text("canary-2b8e")
    (root / "out").symlink_to(tmp_path)
    return Tools(root)


@pytest.mark.parametrize("tool", ALL.values(), ids=list(ALL))
def test_declarations(tool: Tool) -> None:
    write = tool in files_edit.TOOLS
    assert tool.category == ("write" if write else "read")
    assert tool.takes_context
    if tool.name != "current_time":
        assert "path" in tool.paths
        assert set(tool.paths) <= set(tool.parameters["properties"])


@pytest.mark.parametrize("name", [name for name in ALL if name != "current_time"])
@pytest.mark.parametrize("path", ["out/canary", "../canary", "/etc/passwd", "out/new/file"])
def test_no_tool_leads_outside(call: Tools, name: str, path: str) -> None:
    """The stranger's try: a link planted in the workspace, and plain names."""
    arguments: dict[str, Any] = {"path": path}
    extra = {
        "write_file": {"content": "x"},
        "patch_file": {"old_text": "canary", "new_text": "x"},
        "search_files": {"pattern": "canary"},
        "move_file": {"target": "mine"},
        "delete_file": {"recursive": True},
    }
    with pytest.raises(ModelRecoverable, match="is not inside the workspace"):
        call(name, **arguments, **extra.get(name, {}))
    assert (call.root.parent / "canary").read_text() == "canary-2b8e"
    assert sorted(path.name for path in call.root.parent.iterdir()) == ["canary", "u1"]


def test_reading(call: Tools) -> None:
    call("write_file", path="notes/a.txt", content="one\ntwo\nthree\n")
    assert call("read_file", path="notes/a.txt") == "1|one\n2|two\n3|three"
    assert call("read_file", path="/workspace/notes/a.txt", offset=2, limit=1) == (
        "2|two\n[lines 2-2 of 3; go on with offset=3]"
    )
    assert call("read_file", path="notes/a.txt", offset=-1) == "3|three"
    answer = call.answer("read_file", path="notes/a.txt", offset=3)
    assert answer["metadata"] == {"path": "notes/a.txt", "first": 3, "last": 3, "total": 3}
    with pytest.raises(ModelRecoverable, match="has 3 lines; offset 4"):
        call("read_file", path="notes/a.txt", offset=4)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "[the file is empty]"),
        (b"\n", "1|"),
        (b"a\r\nb", "1|a\n2|b"),
        (b"\xef\xbb\xbfa", "1|a"),
        ("ä".encode("utf-16"), "1|ä"),
        (b"caf\xe9", "1|caf\ufffd"),
        (b"x" * 2005, f"1|{'x' * 2000} [5 more characters]"),
    ],
)
def test_kinds_of_text(call: Tools, data: bytes, text: str) -> None:
    (call.root / "f").write_bytes(data)
    assert call("read_file", path="f") == text


def test_a_long_file_comes_in_pieces_that_join(call: Tools) -> None:
    lines = [f"line {number} " + "y" * (number % 97) for number in range(1, 1301)]
    call("write_file", path="f", content="\n".join(lines) + "\n")
    seen, offset = [], 1
    while offset:
        answer = call.answer("read_file", path="f", offset=offset)
        assert len(answer["result"]) < 15_200
        seen += [line.split("|", 1)[1] for line in answer["result"].split("\n") if "|" in line]
        offset = answer["metadata"]["last"] + 1 if answer["metadata"]["last"] < 1300 else 0
    assert seen == lines


def test_binary_files_are_refused_with_a_hint(call: Tools) -> None:
    (call.root / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    with pytest.raises(ModelRecoverable, match=r"not text \(11 bytes\).*view_image"):
        call("read_file", path="p.png")


def test_listing(call: Tools) -> None:
    for path in ("b/c/d.py", "b/e.md", "node_modules/x/y.js", "z.py"):
        call("write_file", path=path, content="1234")
    assert call("list_files") == "b/\nnode_modules/\nout (link)\nz.py (4 bytes)"
    assert call("list_files", path="b") == "b/c/\nb/e.md (4 bytes)"
    assert call("list_files", recursive=True, depth=2).splitlines() == [
        "b/",
        "b/c/",
        "b/e.md (4 bytes)",
        "node_modules/",
        "out (link)",
        "z.py (4 bytes)",
    ]
    assert call("list_files", recursive=True, glob="*.py") == "b/c/d.py (4 bytes)\nz.py (4 bytes)"
    assert call("list_files", limit=2) == (
        "b/\nnode_modules/\n[stopped at 2 entries; narrow the path or glob]"
    )
    call("make_directory", path="empty/deep")
    assert call("list_files", path="empty/deep") == "[nothing here]"
    with pytest.raises(ModelRecoverable, match="'missing' does not exist"):
        call("list_files", path="missing")


def test_file_info(call: Tools) -> None:
    call("write_file", path="f", content="1234")
    answer = call.answer("file_info", path="f")
    assert (answer["metadata"]["kind"], answer["metadata"]["size"]) == ("file", 4)
    assert answer["metadata"]["modified"].endswith("Z")


def test_searching(call: Tools) -> None:
    call("write_file", path="a/one.py", content="x = 1\ndef hello():\n    pass\n")
    call("write_file", path="a/two.md", content="Hello world\nhello (again)\n")
    call("write_file", path=".git/x", content="hello\n")
    (call.root / "bin").write_bytes(b"hello\0")
    assert call("search_files", pattern="hello") == (
        "a/one.py:2: def hello():\na/two.md:2: hello (again)"
    )
    assert call("search_files", pattern=r"^h\w+", ignore_case=True, glob="*.md") == (
        "a/two.md:1: Hello world\na/two.md:2: hello (again)"
    )
    assert call("search_files", pattern="(again)", literal=True) == "a/two.md:2: hello (again)"
    assert call("search_files", pattern="hello", path="a/one.py") == "a/one.py:2: def hello():"
    assert call("search_files", pattern="nowhere") == "[no match]"
    assert call("search_files", pattern="hello", limit=1) == (
        "a/one.py:2: def hello():\n[stopped: the limit of 1 matches is reached]"
    )


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("(", "literal"), ("", "empty"), ("[z-a]", "literal"), ("(?P<a>x)(?P<a>y)", "literal")],
)
def test_patterns_that_are_none(call: Tools, pattern: str, words: str) -> None:
    with pytest.raises(ModelRecoverable, match=words):
        call("search_files", pattern=pattern)


def test_a_hostile_pattern_is_stopped_and_keeps_what_was_found(
    call: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_SEARCH_SECONDS", 0.8)
    call("write_file", path="a", content="aaa\n")
    call("write_file", path="b", content="a" * 60 + "!\n")
    text = call("search_files", pattern="^(a+)+$")
    assert text == "a:1: aaa\n[stopped: the time of 0.8 s was over; narrow the path or pattern]"


def test_a_search_can_be_cancelled(call: Tools) -> None:
    stop = threading.Event()
    stop.set()
    call.context.cancelled = stop.is_set
    call("write_file", path="b", content="a" * 60 + "!\n")
    assert call("search_files", pattern="^(a+)+$") == "[no match]\n[stopped: cancelled]"


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("a/b.py", "", True),
        ("a/b.py", "*.py", True),
        ("a/b.py", "*.md", False),
        ("a/b.py", "a/*.py", True),
        ("a/c/b.py", "a/**/*.py", True),
        ("b.py", "**/b.py", True),
        ("a/b.py", "c/*.py", False),
    ],
)
def test_globs(path: str, glob: str, expected: bool) -> None:
    assert searching.fits(path, glob) is expected


def test_writing(call: Tools) -> None:
    answer = call.answer("write_file", path="d/f.txt", content="héllo\r\n")
    assert answer["result"] == "Wrote 8 bytes to d/f.txt."
    assert (call.root / "d/f.txt").read_bytes() == "héllo\r\n".encode()
    call("write_file", path="d/f.txt", content="\ud800x")
    assert (call.root / "d/f.txt").read_bytes() == b"?x"
    with pytest.raises(ModelRecoverable, match="'d' is a folder"):
        call("write_file", path="d", content="x")
    with pytest.raises(ModelRecoverable, match="is not a folder"):
        call("write_file", path="d/f.txt/g", content="x")


def test_patching(call: Tools) -> None:
    call("write_file", path="f", content="a = 1\nb = 2\na = 1\n")
    assert call("patch_file", path="f", old_text="b = 2", new_text="b = 3\nc = 4") == (
        "Replaced 1 passage in f, line 2."
    )
    assert (call.root / "f").read_text() == "a = 1\nb = 3\nc = 4\na = 1\n"
    with pytest.raises(ModelRecoverable, match=r"2 times in 'f' \(lines 1, 4\)"):
        call("patch_file", path="f", old_text="a = 1", new_text="a = 2")
    assert call.answer("patch_file", path="f", old_text="a = 1", new_text="", replace_all=True)[
        "metadata"
    ] == {"path": "f", "count": 2, "line": 1}
    assert (call.root / "f").read_text() == "\nb = 3\nc = 4\n\n"


def test_patching_keeps_windows_line_ends(call: Tools) -> None:
    (call.root / "f").write_bytes(b"a\r\nb\r\nc\r\n")
    call("patch_file", path="f", old_text="a\nb", new_text="x\ny\nz")
    assert (call.root / "f").read_bytes() == b"x\r\ny\r\nz\r\nc\r\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "x", "old_text is empty"),
        ("    return 1", "    return 1", "the same"),
        ("2|    return 1", "x", "Leave out the line numbers"),
        ("return  1\nreturn 2", "x", "white space or a later line differs; line 2"),
        ("    retrun 1", "x", "nearest is line 2: '    return 1'"),
        ("something else altogether", "x", "Read the file again"),
        ("\t\t", "x", "only white space"),
    ],
)
def test_patches_that_do_not_fit(call: Tools, old: str, new: str, words: str) -> None:
    call("write_file", path="f", content="def f():\n    return 1\n")
    with pytest.raises(ModelRecoverable, match=words.replace("|", r"\|")):
        call("patch_file", path="f", old_text=old, new_text=new)
    assert (call.root / "f").read_text() == "def f():\n    return 1\n"


def test_patching_only_text(call: Tools) -> None:
    (call.root / "f").write_bytes(b"caf\xe9")
    with pytest.raises(ModelRecoverable, match="not UTF-8"):
        call("patch_file", path="f", old_text="caf", new_text="x")
    assert (call.root / "f").read_bytes() == b"caf\xe9"


def test_moving_and_deleting(call: Tools) -> None:
    call("write_file", path="a/f", content="1")
    call("move_file", path="a/f", target="b/g")
    assert (call.root / "b/g").read_text() == "1"
    with pytest.raises(ModelRecoverable, match="is not inside"):
        call("move_file", path="b/g", target="../g")
    assert call("delete_file", path="b/g") == "Deleted b/g (1 in all)."
    assert call("delete_file", path="out") == "Deleted out (1 in all)."
    assert (call.root.parent / "canary").exists()
    with pytest.raises(ModelRecoverable, match="'b/g' does not exist"):
        call("delete_file", path="b/g")


def test_the_tools_and_the_sandbox_share_the_files(call: Tools) -> None:
    call("write_file", path="d/f", content="from the tool\n")
    result = BACKEND.execute("echo from the shell >>d/f; mv d/f d/g", workspace=call.root)
    assert (result.output, result.exit_code) == ("", 0)
    assert call("read_file", path="d/g") == "1|from the tool\n2|from the shell"
    call("patch_file", path="d/g", old_text="shell", new_text="box")
    assert BACKEND.execute("tail -1 d/g; rm d/g", workspace=call.root).output == "from the box\n"


def test_time(call: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import UTC, datetime

    monkeypatch.setattr(system.clock, "now", lambda: datetime(2026, 3, 1, 18, 30, tzinfo=UTC))
    assert call("current_time") == "Monday 2026-03-02T02:30:00+08:00 (Asia/Shanghai)"
    assert call("current_time", timezone="UTC") == "Sunday 2026-03-01T18:30:00+00:00 (UTC)"
    answer = call.answer("current_time", timezone="america/new york")
    assert answer["result"] == "Sunday 2026-03-01T13:30:00-05:00 (America/New_York)"
    assert answer["metadata"] == {"utc": "2026-03-01T18:30:00.000Z", "unix": 1772389800}
    for name in ("Mars/Base", "../../etc/passwd", "/etc/localtime", "x\0"):
        with pytest.raises(ModelRecoverable, match="not a time zone"):
            call("current_time", timezone=name)
