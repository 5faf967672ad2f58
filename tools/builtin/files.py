"""Tools that look at files: read_file, list_files, search_files, file_info."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hermes_site.lib import clock
from hermes_site.lib.errors import ModelRecoverable
from tools.declare import ToolContext, tool
from tools.search import search
from tools.searching import SKIPPED, Query, fits
from tools.workspace import Entry, Workspace

_READ_LINES, _READ_CHARS, _LINE_CHARS = 500, 15_000, 2_000
_LISTED, _LIST_MOST = 200, 1_000
_FOUND, _FOUND_MOST = 50, 200
_SEARCH_SECONDS = 10
_PATH = "Path below the workspace, for example notes/plan.md."


@tool(
    name="read_file",
    description="Read a text file of the workspace. Each line comes as 'number|text'; the "
    "numbers are not part of the file. Long files come in pieces: go on with offset.",
    category="read",
    parameters={
        "path": {"type": "string", "description": _PATH, "required": True},
        "offset": {
            "type": "integer",
            "description": "First line, counted from 1; negative counts from the end.",
            "default": 1,
        },
        "limit": {
            "type": "integer",
            "description": "Most lines to return.",
            "default": _READ_LINES,
            "minimum": 1,
            "maximum": 5000,
        },
    },
    paths=("path",),
)
def read_file(
    ctx: ToolContext, path: str, offset: int = 1, limit: int = _READ_LINES
) -> dict[str, Any]:
    lines = text_of(path, Workspace(ctx.workspace).read(path)).split("\n")
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    first = max(1, total + offset + 1 if offset < 0 else offset)
    if first > max(total, 1):
        raise ModelRecoverable(f"{path!r} has {total} lines; offset {offset} is after its end.")
    shown, last = _numbered(lines, first, min(total, first + limit - 1))
    if last < total:
        shown += f"\n[lines {first}-{last} of {total}; go on with offset={last + 1}]"
    elif not total:
        shown = "[the file is empty]"
    return _done(shown, path=path, first=first, last=last, total=total)


def _numbered(lines: list[str], first: int, last: int) -> tuple[str, int]:
    """The lines as text of bounded size, and the number of the last one."""
    shown: list[str] = []
    size = 0
    for number in range(first, last + 1):
        line = lines[number - 1].removesuffix("\r")
        if len(line) > _LINE_CHARS:
            line = f"{line[:_LINE_CHARS]} [{len(line) - _LINE_CHARS} more characters]"
        size += len(line) + 8
        if shown and size > _READ_CHARS:
            return "\n".join(shown), number - 1
        shown.append(f"{number}|{line}")
    return "\n".join(shown), last


def text_of(path: str, data: bytes) -> str:
    """The text of a file. Raises ``ModelRecoverable`` with a hint when it is not text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:8192]:
        raise ModelRecoverable(
            f"{path!r} is not text ({len(data)} bytes). Use read_document for documents, "
            "view_image for pictures, or the shell (file, xxd)."
        )
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


@tool(
    name="list_files",
    description="List a folder of the workspace; folders end with a slash. Recursive listings "
    "leave out .git, node_modules and the like.",
    category="read",
    parameters={
        "path": {"type": "string", "description": "The folder.", "default": "."},
        "recursive": {
            "type": "boolean",
            "description": "Also list what is in its folders.",
            "default": False,
        },
        "depth": {
            "type": "integer",
            "description": "How many levels, when recursive.",
            "default": 5,
            "minimum": 1,
            "maximum": 20,
        },
        "glob": {
            "type": "string",
            "description": "Only files whose name fits, for example *.py.",
            "default": "",
        },
        "limit": {
            "type": "integer",
            "description": "Most entries to return.",
            "default": _LISTED,
            "minimum": 1,
            "maximum": _LIST_MOST,
        },
    },
    paths=("path",),
)
def list_files(
    ctx: ToolContext,
    path: str = ".",
    recursive: bool = False,
    depth: int = 5,
    glob: str = "",
    limit: int = _LISTED,
) -> dict[str, Any]:
    walk = Workspace(ctx.workspace).walk(path, depth=depth if recursive else 1, skip=SKIPPED)
    lines: list[str] = []
    more = False
    for entry in walk:
        if glob and (entry.kind == "folder" or not fits(entry.path, glob)):
            continue
        if len(lines) >= limit:
            more = True
            break
        lines.append(_line(entry))
    text = "\n".join(lines) or "[nothing here]"
    if more:
        text += f"\n[stopped at {limit} entries; narrow the path or glob]"
    return _done(text, path=path, count=len(lines), truncated=more)


def _line(entry: Entry) -> str:
    if entry.kind == "folder":
        return f"{entry.path}/"
    size = f"{entry.size} bytes" if entry.kind == "file" else entry.kind
    return f"{entry.path} ({size})"


@tool(
    name="search_files",
    description="Search the content of files below a folder; returns 'path:line: text'. The "
    "pattern is a Python regular expression, tried line by line, unless literal is set.",
    category="read",
    parameters={
        "pattern": {"type": "string", "description": "What to look for.", "required": True},
        "path": {"type": "string", "description": "File or folder to look in.", "default": "."},
        "glob": {
            "type": "string",
            "description": "Only files that fit, for example *.md or src/**/*.py.",
            "default": "",
        },
        "literal": {
            "type": "boolean",
            "description": "Take the pattern as plain text.",
            "default": False,
        },
        "ignore_case": {
            "type": "boolean",
            "description": "Upper and lower case are the same.",
            "default": False,
        },
        "limit": {
            "type": "integer",
            "description": "Most matches to return.",
            "default": _FOUND,
            "minimum": 1,
            "maximum": _FOUND_MOST,
        },
    },
    paths=("path",),
    timeout=30,
)
def search_files(
    ctx: ToolContext,
    pattern: str,
    path: str = ".",
    glob: str = "",
    literal: bool = False,
    ignore_case: bool = False,
    limit: int = _FOUND,
) -> dict[str, Any]:
    if not pattern:
        raise ModelRecoverable("The pattern is empty. To find files by name use list_files.")
    query = Query(pattern, glob, literal, ignore_case, limit)
    findings = search(
        Workspace(ctx.workspace), path, query, seconds=_SEARCH_SECONDS, cancelled=ctx.cancelled
    )
    lines = [f"{match.path}:{match.line}: {match.text}" for match in findings.matches]
    text = "\n".join(lines) or "[no match]"
    if findings.stopped:
        text += f"\n[stopped: {findings.stopped}]"
    return _done(text, count=len(lines), truncated=bool(findings.stopped))


@tool(
    name="file_info",
    description="Kind, size and time of change of a file or folder of the workspace.",
    category="read",
    parameters={"path": {"type": "string", "description": _PATH, "required": True}},
    paths=("path",),
)
def file_info(ctx: ToolContext, path: str) -> dict[str, Any]:
    entry = Workspace(ctx.workspace).stat(path)
    modified = clock.iso(datetime.fromtimestamp(entry.modified, UTC))
    text = f"{entry.path}: {entry.kind}, {entry.size} bytes, changed {modified}"
    return _done(text, path=entry.path, kind=entry.kind, size=entry.size, modified=modified)


def _done(result: str, **metadata: object) -> dict[str, Any]:
    return {"success": True, "result": result, "metadata": metadata}


TOOLS = [read_file, list_files, search_files, file_info]
