"""The textual forms in which models write calls, each read from its whole body.

Hermes JSON, ``<function=NAME>`` with JSON or ``<parameter=x>`` inside, and calls written as in
Python (Liquid). A form that cannot be read becomes one call with an ``error``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from agents.calls.lenient import Read, Reader, Unreadable, checked, read
from agents.providers.base import ToolCallPart

NAME_KEYS = ("name", "tool")
ARGUMENT_KEYS = ("arguments", "parameters")
# Keys that may stand beside name and arguments and mean nothing to us.
_BESIDE = {"id", "type", "index"}
_PARAMETER = re.compile(r"\s*<parameter=([^>\n]{1,200})>(.*?)</parameter>", re.DOTALL)
_NAME_IN_JSON = re.compile(r"""["'](?:name|tool)["']\s*:\s*["']([^"'\n]{1,200})["']""")
_CALLED = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*\(")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")
_LEAST = 2000  # Characters in which a broken form's name is looked for.


def call(name: str, arguments: dict[str, Any], *, repaired: bool = False) -> ToolCallPart:
    return ToolCallPart("", name, arguments, repaired=repaired)


def broken(name: str, why: str) -> ToolCallPart:
    return ToolCallPart("", name, {}, f"The arguments of the call could not be read. {why}")


def read_arguments(text: str, *, mend: bool = True) -> tuple[list[dict[str, Any]], bool]:
    """The argument objects in ``text``, several if glued together, and whether they were
    repaired. No text at all means no arguments. Raises ``Unreadable``."""
    found = read(text, mend=mend)
    values = found.values
    if len(values) == 1 and isinstance(values[0], str):
        # Encoded twice.
        inner = read(values[0], mend=mend)
        values, found = inner.values, inner
    if not values or values == [None]:
        return [{}], False
    if not all(isinstance(value, dict) for value in values):
        raise Unreadable("Arguments must be one JSON object.")
    # Some servers begin with an empty object and then send the real one.
    if len(values) > 1 and not values[0]:
        values = values[1:]
    return values, found.repaired


def hermes(body: str, *, mend: bool = True) -> list[ToolCallPart]:
    """``{"name", "arguments"}`` objects, one after another or in a list."""
    try:
        return _named(read(body, mend=mend))
    except Unreadable as error:
        match = _NAME_IN_JSON.search(body[:_LEAST])
        return [broken(match.group(1) if match else "unknown", str(error))]


def whole_answer(body: str, known: Collection[str]) -> list[ToolCallPart]:
    """The calls of an answer that is nothing but JSON; none unless all of it is calls of offered
    tools, as it may be the answer that the user asked for."""
    try:
        found = _named(read(body, mend=False), complete=True)
    except Unreadable:
        return []
    return found if all(call.name in known for call in found) else []


def _named(found: Read, *, complete: bool = False) -> list[ToolCallPart]:
    calls: list[ToolCallPart] = []
    for value in found.values:
        items = value if isinstance(value, list) else [value]
        calls += [_from_object(i, repaired=found.repaired, complete=complete) for i in items]
    if not calls:
        raise Unreadable("There is no call in it.")
    return calls


def _from_object(item: Any, *, repaired: bool, complete: bool) -> ToolCallPart:
    if isinstance(item, dict) and isinstance(item.get("function"), dict):
        item = item["function"]
    if not isinstance(item, dict):
        raise Unreadable('A call is an object {"name": …, "arguments": {…}}.')
    name_key = next((key for key in NAME_KEYS if isinstance(item.get(key), str)), "")
    argument_key = next((key for key in ARGUMENT_KEYS if key in item), "")
    if (
        not name_key
        or set(item) - {name_key, argument_key} - _BESIDE
        or (complete and not argument_key)
    ):
        raise Unreadable('A call has the keys "name" and "arguments" only.')
    arguments = item.get(argument_key)
    if isinstance(arguments, str):
        values, _ = read_arguments(arguments, mend=False)
        arguments = values[0] if len(values) == 1 else values
    if arguments is not None and not isinstance(arguments, dict):
        raise Unreadable("Arguments must be a JSON object.")
    return call(item[name_key], arguments or {}, repaired=repaired)


def function(body: str, *, mend: bool = True) -> list[ToolCallPart]:
    """``NAME>`` followed by a JSON object or by ``<parameter=x>value</parameter>``."""
    name, mark, content = body.partition(">")
    try:
        if not mark:
            raise Unreadable("Its name has no end.")
        if content.lstrip()[:1] in ("{", "["):
            values, repaired = read_arguments(content, mend=mend)
            return [call(name, value, repaired=repaired) for value in values]
        return [call(name, _parameters(content))]
    except Unreadable as error:
        return [broken(name[:200], str(error))]


def _parameters(content: str) -> dict[str, Any]:
    """Values are text as it stands, without the line breaks next to the tags; the tool's schema
    decides later what they mean."""
    found: dict[str, Any] = {}
    position = 0
    while match := _PARAMETER.match(content, position):
        name, value = match.group(1).strip(), match.group(2)
        if name in found:
            raise Unreadable(f"The parameter {name!r} is there twice.")
        if "<parameter=" in value:
            raise Unreadable(f"The parameter {name!r} has no end of its own.")
        found[name] = value.removeprefix("\n").removesuffix("\n")
        position = match.end()
    if rest := content[position:].strip():
        raise Unreadable(f"Expected <parameter=…>, found {rest[:20]!r}.")
    return found


def pythonic(body: str, *, mend: bool = True) -> list[ToolCallPart]:
    """``[f(a=1, b="x"), g()]`` with literal keyword arguments; or Hermes JSON."""
    if body.lstrip().startswith(("{", "[{")):
        return hermes(body, mend=mend)
    reader = Reader(body, mend=False)
    try:
        calls = _python_calls(reader)
        return [call(name, checked(arguments)) for name, arguments in calls]
    except Unreadable as error:
        match = _CALLED.search(body[:_LEAST])
        return [broken(match.group(1) if match else "unknown", str(error))]


def _python_calls(reader: Reader) -> list[tuple[str, dict[str, Any]]]:
    calls = []
    reader.space()
    listed = reader.take("[")
    while True:
        match = _CALLED.match(reader.text, reader.position)
        if match is None:
            reader.fail("a call such as f(a=1)")
        reader.position = match.end()
        calls.append((match.group(1), _keywords(reader)))
        reader.space()
        if reader.take(",") and listed:
            continue
        if listed and not reader.take("]"):
            reader.fail("',' or ']'")
        reader.space()
        if not reader.at_end:
            reader.fail("nothing more")
        return calls


def _keywords(reader: Reader) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while True:
        reader.space()
        if reader.take(")"):
            return found
        match = _KEYWORD.match(reader.text, reader.position)
        if match is None:
            reader.fail("an argument by its name")
        reader.position = match.end()
        reader.space()
        if match.group(1) in found:
            raise Unreadable(f"The argument {match.group(1)!r} is there twice.")
        found[match.group(1)] = reader.value()
        reader.space()
        if not reader.take(",") and reader.next != ")":
            reader.fail("',' or ')'")


def is_call(kind: str, body: str) -> bool:
    """Whether a form without an end is a call at all, and not a tag that the text speaks of."""
    if kind == "function":
        _, mark, content = body.partition(">")
        content = content.lstrip()
        return bool(mark) and (not content or content[0] in "{[<")
    start = body.lstrip()
    return start[:1] in ("{", "[", "<") or (kind == "liquid" and bool(_CALLED.match(start)))


FORMS: dict[str, Callable[..., list[ToolCallPart]]] = {
    "tool_call": hermes,
    "function": function,
    "liquid": pythonic,
}
