"""Declaring a tool: one decorator, checked where it is written.

A tool says what it does and what it needs; policy, limits, logging, capping and redaction
happen around it in ``tools.execution`` and never inside it.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

if typing.TYPE_CHECKING:
    from tools.backends.base import Backend

CATEGORIES = ("read", "write", "system", "finance")
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,63}")
_JSON_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}
_KEYWORDS = {"type", "description", "enum", "items", "minimum", "maximum", "default", "required"}


@dataclass(frozen=True)
class Classification:
    """What one call with these arguments is: its category, why, whether the floor forbids it,
    and whether it ``must_ask`` even where its category would run by itself.

    ``parts`` are the commands that a shell line consists of, ``()`` when it was not understood,
    None for tools without commands: a rule that opens something must fit each of them.
    """

    category: str
    why: str = ""
    forbidden: bool = False
    must_ask: bool = False
    parts: tuple[str, ...] | None = None


@dataclass
class ToolContext:
    """What a running tool may use. ``emit`` streams output; ``cancelled`` says stop now."""

    user: Any
    session_id: UUID
    run_id: UUID | None
    call_id: UUID
    workspace: Path
    backend: Backend
    emit: Callable[[str], None] = lambda text: None
    cancelled: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class Tool:
    """A declared tool. ``parameters`` is a JSON Schema object; ``paths`` names the arguments
    that are workspace paths (for running disjoint calls side by side); ``classify`` judges a
    call by its arguments; ``timeout`` is in seconds."""

    name: str
    description: str
    category: str
    parameters: dict[str, Any]
    fn: Callable[..., Any]
    security: dict[str, Any] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    classify: Callable[[dict[str, Any], Path], Classification] | None = None
    timeout: float = 60

    @property
    def takes_context(self) -> bool:
        return "ctx" in inspect.signature(self.fn).parameters

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.fn)

    def classification(self, arguments: dict[str, Any], workspace: Path) -> Classification:
        """What the call is, seen from the workspace in which it would run."""
        if self.classify is None:
            return Classification(self.category)
        return self.classify(arguments, workspace)

    def schema(self) -> dict[str, Any]:
        """The form that model APIs take: name, description and JSON Schema."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


def tool(
    *,
    name: str,
    description: str,
    category: str = "system",
    parameters: dict[str, dict[str, Any]] | None = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], Tool]:
    """Declare the decorated function as a tool.

    ``parameters`` maps argument names to ``{"type", "description", "required", "default"}``;
    without it they are read from the annotations and the ``Args:`` of the docstring. A tool
    that names no category is ``system``, the one that asks most.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"Tool name {name!r}: use letters, digits and _, at most 64, a letter first."
        )
    if category not in CATEGORIES:
        raise ValueError(
            f"Tool {name!r}: category {category!r} is not one of {', '.join(CATEGORIES)}."
        )
    if not description.strip():
        raise ValueError(f"Tool {name!r} has no description; the model needs one.")

    def declare(fn: Callable[..., Any]) -> Tool:
        fields = _from_signature(fn) if parameters is None else parameters
        return Tool(name, description, category, _object_schema(name, fields), fn, **options)

    return declare


def _object_schema(name: str, fields: dict[str, dict[str, Any]]) -> dict[str, Any]:
    properties, required = {}, []
    for argument, spec in fields.items():
        unknown = set(spec) - _KEYWORDS
        if unknown or spec.get("type") not in _JSON_TYPES.values():
            raise ValueError(f"Tool {name!r}, argument {argument!r}: bad declaration {spec!r}.")
        if spec.get("required"):
            required.append(argument)
        properties[argument] = {k: v for k, v in spec.items() if k != "required"}
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _from_signature(fn: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    hints, docs = typing.get_type_hints(fn), _argument_docs(fn)
    fields: dict[str, dict[str, Any]] = {}
    for argument, parameter in inspect.signature(fn).parameters.items():
        if argument == "ctx":
            continue
        spec: dict[str, Any] = {
            "type": _json_type(fn, argument, hints.get(argument, str)),
            "description": docs.get(argument, ""),
        }
        if parameter.default is inspect.Parameter.empty:
            spec["required"] = True
        elif parameter.default is not None:
            spec["default"] = parameter.default
        fields[argument] = spec
    return fields


def _json_type(fn: Callable[..., Any], argument: str, hint: Any) -> str:
    options = [hint]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(hint) if option is not type(None)]
    base = typing.get_origin(options[0]) or options[0]
    if len(options) != 1 or base not in _JSON_TYPES:
        raise ValueError(f"{fn.__name__}({argument}: {hint}): give the tool explicit parameters.")
    return _JSON_TYPES[base]


def _argument_docs(fn: Callable[..., Any]) -> dict[str, str]:
    """The ``name: text`` lines under ``Args:`` in a Google-style docstring."""
    section = re.search(r"Args:\n(.*?)(?:\n\s*\n|\n\s*Returns:|\Z)", inspect.getdoc(fn) or "", re.S)
    return (
        dict(re.findall(r"^\s+(\w+)(?: \([^)]*\))?: (.+)$", section.group(1), re.M))
        if section
        else {}
    )
