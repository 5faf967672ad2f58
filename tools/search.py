"""Searching the content of a workspace in a process of its own.

A pattern from outside can keep Python's ``re`` busy for years, and nothing in the same process
can stop it; here the portal kills the search when its time is over and keeps what it found.
The child (``tools.searching``) gets one open descriptor and no other way to a file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from hermes_site.lib.errors import ModelRecoverable
from tools.searching import Query
from tools.workspace import Workspace, parts_of


@dataclass(frozen=True)
class Match:
    """A line that fits; ``line`` counts from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Findings:
    """The matches, and why there may be more (empty when these are all)."""

    matches: list[Match]
    stopped: str = ""


def search(
    space: Workspace, path: str, query: Query, *, seconds: float, cancelled: Callable[[], bool]
) -> Findings:
    """Look in a file, or in everything below a folder, for at most ``seconds``.

    Raises ``ModelRecoverable`` for a bad pattern or path.
    """
    top = space.open(path)
    try:
        child = subprocess.Popen(  # noqa: S603 - a module of our own
            [sys.executable, "-m", "tools.searching", str(top)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=Path(__file__).resolve().parents[1],
            env={"PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"},
            pass_fds=(top,),
        )
    finally:
        os.close(top)
    answer, stopped = _wait(child, json.dumps(asdict(query)).encode(), seconds, cancelled)
    return _findings(answer, stopped, child.returncode, "/".join(parts_of(path)))


def _wait(
    child: subprocess.Popen[bytes], question: bytes, seconds: float, cancelled: Callable[[], bool]
) -> tuple[bytes, str]:
    """What the child printed, and why it was stopped, if it was."""
    deadline, stopped = time.monotonic() + seconds, ""
    first: bytes | None = question
    while True:
        try:
            return child.communicate(first, timeout=0.1)[0], stopped
        except subprocess.TimeoutExpired:
            first = None
            if time.monotonic() > deadline:
                stopped = f"the time of {seconds:g} s was over; narrow the path or pattern"
                child.kill()
            elif cancelled():
                stopped = "cancelled"
                child.kill()


def _findings(answer: bytes, stopped: str, code: int, top: str) -> Findings:
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
            path = "/".join(filter(None, (top, item["path"])))
            matches.append(Match(path, item["line"], item["text"]))
    if not ended and not stopped:
        stopped = f"the search ended early (exit code {code}); narrow the path or pattern"
    return Findings(matches, stopped)
