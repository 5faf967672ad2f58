"""Tools that change files: write_file, patch_file, move_file, make_directory, delete_file."""

from __future__ import annotations

import difflib
import re
from typing import Any

from hermes_site.lib.errors import ModelRecoverable
from tools.declare import ToolContext, tool
from tools.workspace import Workspace

# Lines that are compared to find the place that was meant.
_COMPARED, _COMPARED_CHARS = 2_000, 200
_PATH = {
    "type": "string",
    "description": "Path below the workspace, for example notes/plan.md.",
    "required": True,
}


@tool(
    name="write_file",
    description="Write a text file of the workspace, replacing what was there; makes the "
    "folders above it. To change a part of a file use patch_file.",
    category="write",
    parameters={
        "path": _PATH,
        "content": {"type": "string", "description": "The whole text.", "required": True},
    },
    paths=("path",),
)
def write_file(ctx: ToolContext, path: str, content: str) -> dict[str, Any]:
    written = Workspace(ctx.workspace).write(path, content.encode("utf-8", "replace"))
    return _done(f"Wrote {written} bytes to {path}.", path=path, bytes=written)


@tool(
    name="patch_file",
    description="Replace one passage of a text file. old_text must be in the file exactly, "
    "with its indentation and without line numbers, and only once unless replace_all is set.",
    category="write",
    parameters={
        "path": _PATH,
        "old_text": {"type": "string", "description": "The passage as it is.", "required": True},
        "new_text": {"type": "string", "description": "What replaces it.", "required": True},
        "replace_all": {
            "type": "boolean",
            "description": "Replace every occurrence.",
            "default": False,
        },
    },
    paths=("path",),
)
def patch_file(
    ctx: ToolContext, path: str, old_text: str, new_text: str, replace_all: bool = False
) -> dict[str, Any]:
    space = Workspace(ctx.workspace)
    try:
        text = space.read(path).decode("utf-8")
    except UnicodeDecodeError:
        raise ModelRecoverable(
            f"{path!r} is not UTF-8 text; patch_file cannot change it."
        ) from None
    if not old_text:
        raise ModelRecoverable("old_text is empty. To make a new file use write_file.")
    if "\r\n" in text and "\r" not in old_text:
        old_text, new_text = (part.replace("\n", "\r\n") for part in (old_text, new_text))
    if old_text == new_text:
        raise ModelRecoverable("old_text and new_text are the same; nothing would change.")
    count = text.count(old_text)
    if count == 0:
        raise ModelRecoverable(f"old_text is not in {path!r}. {_hint(text, old_text)}")
    at = [text.count("\n", 0, place) + 1 for place in _places(text, old_text, 10)]
    if count > 1 and not replace_all:
        raise ModelRecoverable(
            f"old_text is {count} times in {path!r} (lines {', '.join(map(str, at))}"
            f"{', …' if count > len(at) else ''}). Add lines around it, or set replace_all."
        )
    space.write(path, text.replace(old_text, new_text).encode())
    times = "1 passage" if count == 1 else f"{count} passages"
    return _done(f"Replaced {times} in {path}, line {at[0]}.", path=path, count=count, line=at[0])


def _places(text: str, part: str, most: int) -> list[int]:
    found: list[int] = []
    place = text.find(part)
    while place >= 0 and len(found) < most:
        found.append(place)
        place = text.find(part, place + len(part))
    return found


def _hint(text: str, old_text: str) -> str:
    """What was probably meant: the commonest mistakes first, else the nearest line."""
    wanted = old_text.strip().splitlines()
    if not wanted:
        return "It is only white space."
    if all(re.match(r"\s*\d+\|", line) for line in wanted):
        return "Leave out the line numbers that read_file puts before each line."
    lines = text.splitlines()[:_COMPARED]
    squeezed = [" ".join(line.split()) for line in lines]
    target = " ".join(wanted[0].split())[:_COMPARED_CHARS]
    for number, line in enumerate(squeezed, 1):
        if target and target in line:
            why = "The white space or a later line differs" if len(wanted) > 1 else "It differs"
            return f"{why}; line {number} is {lines[number - 1][:_COMPARED_CHARS]!r}."
    short = [line[:_COMPARED_CHARS] for line in squeezed]
    near = difflib.get_close_matches(target, short, n=1, cutoff=0.5)
    if not near:
        return "Read the file again."
    number = short.index(near[0]) + 1
    return f"The nearest is line {number}: {lines[number - 1][:_COMPARED_CHARS]!r}."


@tool(
    name="move_file",
    description="Move or rename a file or folder of the workspace; the target must not exist.",
    category="write",
    parameters={
        "path": _PATH,
        "target": {"type": "string", "description": "The new path.", "required": True},
    },
    paths=("path", "target"),
)
def move_file(ctx: ToolContext, path: str, target: str) -> dict[str, Any]:
    Workspace(ctx.workspace).move(path, target)
    return _done(f"Moved {path} to {target}.", path=path, target=target)


@tool(
    name="make_directory",
    description="Make a folder in the workspace, and those above it.",
    category="write",
    parameters={"path": _PATH},
    paths=("path",),
)
def make_directory(ctx: ToolContext, path: str) -> dict[str, Any]:
    Workspace(ctx.workspace).mkdirs(path)
    return _done(f"{path} is there.", path=path)


@tool(
    name="delete_file",
    description="Delete a file or an empty folder of the workspace; with recursive, a folder "
    "and everything in it. There is no way back.",
    category="write",
    parameters={
        "path": _PATH,
        "recursive": {
            "type": "boolean",
            "description": "Delete a folder with all that is in it.",
            "default": False,
        },
    },
    paths=("path",),
)
def delete_file(ctx: ToolContext, path: str, recursive: bool = False) -> dict[str, Any]:
    count = Workspace(ctx.workspace).delete(path, recursive=recursive)
    return _done(f"Deleted {path} ({count} in all).", path=path, count=count)


def _done(result: str, **metadata: object) -> dict[str, Any]:
    return {"success": True, "result": result, "metadata": metadata}


TOOLS = [write_file, patch_file, move_file, make_directory, delete_file]
