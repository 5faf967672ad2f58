"""Searching the content of a workspace in a process of its own.

A pattern from outside can keep Python's ``re`` busy for years, and nothing in the same process
can stop it; here the portal kills the search when its time is over and keeps what it found.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from hermes_site.lib.errors import ModelRecoverable
from tools.workspace import Entry, Workspace

# Folders of machine-made files, which drown everything else.
SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache"})
_MAX_SEARCHED = 2 * 1024 * 1024
_MAX_FILES = 20_000
_MAX_LINE, _SHOWN_LINE = 5_000, 300
_MEMORY = 1024 * 1024 * 1024


@dataclass(frozen=True)
class Query:
    """What to look for; ``seconds`` bounds the whole search, ``limit`` the matches."""

    root: str
    path: str
    pattern: str
    glob: str
    literal: bool
    ignore_case: bool
    limit: int
    seconds: float


@dataclass(frozen=True)
class Match:
    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Findings:
    """The matches, and why there may be more (empty when these are all)."""

    matches: list[Match]
    stopped: str = ""


def search(query: Query, cancelled: Callable[[], bool]) -> Findings:
    """Run ``query`` in a child process. Raises ``ModelRecoverable`` for a bad pattern or path."""
    child = subprocess.Popen(  # noqa: S603 - this very module
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).resolve().parents[1],
        env={"PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"},
    )
    deadline, stopped = time.monotonic() + query.seconds, ""
    question: bytes | None = json.dumps(asdict(query)).encode()
    while True:
        try:
            answer, _ = child.communicate(question, timeout=0.2)
            break
        except subprocess.TimeoutExpired:
            question = None
            if time.monotonic() > deadline:
                stopped = f"the time of {query.seconds:g} s was over; narrow the path or pattern"
                child.kill()
            elif cancelled():
                stopped = "cancelled"
                child.kill()
    return _findings(answer, stopped, child.returncode)


def _findings(answer: bytes, stopped: str, code: int) -> Findings:
    matches: list[Match] = []
    ended = False
    # A killed child may have been in the middle of its last line.
    for line in answer[: answer.rfind(b"\n") + 1].splitlines():
        item = json.loads(line)
        if "error" in item:
            raise ModelRecoverable(item["error"])
        if "end" in item:
            ended, stopped = True, item["end"]
        else:
            matches.append(Match(**item))
    if not ended and not stopped:
        stopped = f"the search ended early (exit code {code}); narrow the path or pattern"
    return Findings(matches, stopped)


def _search(query: Query) -> Iterator[dict[str, object]]:
    pattern = re.escape(query.pattern) if query.literal else query.pattern
    try:
        expression = re.compile(pattern, re.IGNORECASE if query.ignore_case else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise ModelRecoverable(
            f"The pattern {query.pattern!r} is not a regular expression: {error}. "
            "Set literal to search for it as plain text."
        ) from error
    space, found = Workspace(Path(query.root)), 0
    for files, entry in enumerate(_files(space, query), 1):
        if files > _MAX_FILES:
            yield {"end": f"{_MAX_FILES} files were looked at; narrow the path or glob"}
            return
        for number, line in _lines(space, entry):
            if expression.search(line):
                yield asdict(Match(entry.path, number, line.strip()[:_SHOWN_LINE]))
                found += 1
                if found >= query.limit:
                    yield {"end": f"the limit of {query.limit} matches is reached"}
                    return
    yield {"end": ""}


def _files(space: Workspace, query: Query) -> Iterator[Entry]:
    top = space.stat(query.path)
    entries = iter([top]) if top.kind == "file" else space.walk(query.path, skip=SKIPPED)
    for entry in entries:
        if entry.kind == "file" and fits(entry.path, query.glob) and entry.size <= _MAX_SEARCHED:
            yield entry


def fits(path: str, glob: str) -> bool:
    """Whether ``glob`` is empty or fits the name, or the path when it holds a slash."""
    if "/" in glob:
        # ``**/x`` also means x at the top.
        return fnmatchcase(path, glob) or fnmatchcase("/" + path, glob.replace("**/", "*/"))
    return not glob or fnmatchcase(path.rsplit("/", 1)[-1], glob)


def _lines(space: Workspace, entry: Entry) -> Iterator[tuple[int, str]]:
    try:
        data = space.read(entry.path, _MAX_SEARCHED)
    except ModelRecoverable:
        return  # it went away, or its name is not text
    if b"\0" in data[:8192]:
        return
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        yield number, line[:_MAX_LINE]


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    query = Query(**json.load(sys.stdin))
    try:
        for item in _search(query):
            print(json.dumps(item), flush=True)
    except ModelRecoverable as error:
        print(json.dumps({"error": error.message}), flush=True)


if __name__ == "__main__":
    _main()
