"""The child process of ``tools.search``: reads a query, prints one JSON object a match.

It starts for every search, so it imports the standard library and ``tools.beneath`` only.
"""

from __future__ import annotations

import json
import os
import re
import resource
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tools import beneath

# Folders of machine-made files, which drown everything else.
SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", ".mypy_cache"})
_MAX_SEARCHED = 2 * 1024 * 1024
_MAX_FILES = 20_000
_MAX_LINE, _SHOWN_LINE = 5_000, 300
_MEMORY = 1024 * 1024 * 1024
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Query:
    """What to look for; ``glob`` chooses files, ``limit`` bounds the matches."""

    pattern: str
    glob: str
    literal: bool
    ignore_case: bool
    limit: int


def fits(path: str, glob: str) -> bool:
    """Whether ``glob`` is empty or fits the name, or the path when it holds a slash."""
    if "/" in glob:
        # ``**/x`` also means x at the top.
        return fnmatchcase(path, glob) or fnmatchcase("/" + path, glob.replace("**/", "*/"))
    return not glob or fnmatchcase(path.rsplit("/", 1)[-1], glob)


def _expression(query: Query) -> re.Pattern[str]:
    pattern = re.escape(query.pattern) if query.literal else query.pattern
    return re.compile(pattern, re.IGNORECASE if query.ignore_case else 0)


def _search(top: int, query: Query, expression: re.Pattern[str]) -> Iterator[dict[str, object]]:
    found = 0
    for count, (path, data) in enumerate(_files(top, query.glob)):
        if count == _MAX_FILES:
            yield {"end": f"{_MAX_FILES} files were looked at; narrow the path or glob"}
            return
        if b"\0" in data[:8192]:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
            if expression.search(line[:_MAX_LINE]):
                yield {"path": path, "line": number, "text": line.strip()[:_SHOWN_LINE]}
                found += 1
                if found >= query.limit:
                    yield {"end": f"the limit of {query.limit} matches is reached"}
                    return
    yield {"end": ""}


def _files(top: int, glob: str) -> Iterator[tuple[str, bytes]]:
    """Path below ``top`` and content; ``top`` itself when it is a file."""
    if stat.S_ISREG(os.fstat(top).st_mode):
        yield "", _content(os.dup(top))
        return
    for found in beneath.walk(top, skip=SKIPPED):
        wanted = stat.S_ISREG(found.status.st_mode) and found.status.st_size <= _MAX_SEARCHED
        if not wanted or not fits(found.path, glob):
            continue
        try:
            fd = os.open(found.name, _OPEN, dir_fd=found.folder)
        except OSError:
            continue  # it went away
        yield os.fsencode(found.path).decode("utf-8", "replace"), _content(fd)


def _content(fd: int) -> bytes:
    with open(fd, "rb") as file:
        return file.read(_MAX_SEARCHED) if stat.S_ISREG(os.fstat(fd).st_mode) else b""


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    query = Query(**json.load(sys.stdin))
    try:
        expression = _expression(query)
    except (re.error, OverflowError, RecursionError) as error:
        text = f"The pattern {query.pattern!r} is not a regular expression: {error}. "
        print(json.dumps({"error": text + "Set literal to search for it as plain text."}))
        return
    for item in _search(int(sys.argv[1]), query, expression):
        print(json.dumps(item), flush=True)


if __name__ == "__main__":
    _main()
