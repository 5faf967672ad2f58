"""Owns the parse of a command line by tree-sitter-bash and what the rules need to see in it.

The walk is a loop, not a recursion, and the parser works on a budget of processor time, so no
text can exhaust the stack or hold a worker.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Tree

_LANGUAGE: Final = Language(tree_sitter_bash.language())
PARSE_BUDGET: Final = 0.005
"""Seconds of this thread's processor time for one command line, nested texts included."""
_MOST_NODES: Final = 2400
# Runs of operators make the parser's error recovery quadratic; no real command has them.
_OPERATOR_RUN: Final = re.compile(r"[|&<>();][|&<>();\s]{199,}")
_NO_OPERATORS: Final = str.maketrans("", "", "|&<>();$`")
DYNAMIC: Final = "\0"
"""Stands in a decoded word for a part that is only known when the command runs."""

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_DOUBLE_ESCAPE = re.compile(r'\\([$`"\\\n])')
_ANSI_C = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_WRITES = {">", ">>", ">|", "&>", "&>>", ">&", "<>"}
_CALLS = {"command", "declaration_command", "unset_command", "test_command"}
Span = tuple[int, int]


@dataclass(frozen=True)
class Call:
    """A simple command as parsed: decoded ``words``, the ``raw`` ones, its byte ``span``, the
    files that redirections write, and whether it sets variables."""

    words: tuple[str, ...]
    raw: tuple[str, ...]
    span: Span
    writes: tuple[str, ...] = ()
    assigns: bool = False

    @property
    def name(self) -> str:
        return self.words[0].rsplit("/", 1)[-1] if self.words else ""


@dataclass
class Script:
    """All that was found: ``calls`` as written, in source order; ``runs``, these and whatever
    else runs or writes; the stages of each pipeline; for each statement with redirections its
    body and its redirections; texts of heredocs. All spans are in bytes."""

    calls: list[Call] = field(default_factory=list)
    runs: list[Call] = field(default_factory=list)
    pipelines: list[list[Span]] = field(default_factory=list)
    redirected: list[tuple[Span, Span]] = field(default_factory=list)
    heredocs: list[tuple[Span, str]] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    whole: bool = True


def parse(text: str, budget: float = PARSE_BUDGET) -> Script | None:
    """What ``text`` holds, or None when it is too tangled for ``budget`` seconds."""
    if budget <= 0 or (len(text) > 1024 and _OPERATOR_RUN.search(text)) or _is_dense(text):
        return None
    source = text.encode("utf-8", "replace")
    tree = _tree(source, budget)
    return _collect(tree, source) if tree else None


def _is_dense(text: str) -> bool:
    return len(text) > 8192 and len(text.translate(_NO_OPERATORS)) < 0.7 * len(text)


def _tree(source: bytes, budget: float) -> Tree | None:
    # A parser of its own per call: one that ran out of budget keeps state, and threads share none.
    parser, began = Parser(_LANGUAGE), time.thread_time()
    try:
        return parser.parse(
            lambda offset, _point: source[offset:],
            progress_callback=lambda _offset, _error: time.thread_time() - began > budget,
        )
    except ValueError:
        return None


def _collect(tree: Tree, source: bytes) -> Script | None:
    script = Script(whole=not tree.root_node.has_error)
    redirects: dict[Span, list[str]] = {}
    for count, node in enumerate(_walk(tree.root_node)):
        if count > _MOST_NODES:
            return None
        script.kinds.add(node.type)
        script.whole = script.whole and not node.is_missing
        if node.type in _CALLS:
            script.calls.append(_call(node, source))
            redirections = (c for c in node.named_children if c.type.endswith("_redirect"))
            script.redirected.extend(
                (script.calls[-1].span, _span(child)) for child in redirections
            )
        elif node.type == "variable_assignment" and node.parent and node.parent.type != "command":
            script.runs.append(Call((), (), _span(node), assigns=True))
        elif node.type == "pipeline":
            script.pipelines.append([_span(child) for child in node.named_children])
        elif node.type == "redirected_statement":
            _redirected(node, source, script, redirects)
    script.calls = [
        Call(c.words, c.raw, c.span, (*c.writes, *redirects.get(c.span, ())), c.assigns)
        for c in sorted(script.calls, key=lambda call: call.span)
    ]
    return script


def starts(calls: Iterable[Call]) -> list[int]:
    """The sorted places at which ``calls`` begin, for ``any_in``."""
    return sorted({call.span[0] for call in calls})


def any_in(places: Sequence[int], span: Span) -> bool:
    """Whether one of the sorted ``places`` lies in ``span``; a call never ends outside its parent,
    so its start decides."""
    index = bisect_left(places, span[0])
    return index < len(places) and places[index] < span[1]


def _walk(root: Node) -> Iterator[Node]:
    """Every node, parents first; the inside of ``[ … ]`` and ``[[ … ]]`` too."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.named_children))


def _redirected(
    node: Node, source: bytes, script: Script, redirects: dict[Span, list[str]]
) -> None:
    body = node.child_by_field_name("body")
    start = body.end_byte if body else node.start_byte
    written = [target for child in node.named_children for target in _targets(child, source)]
    if body is None:
        script.runs.append(Call((), (), _span(node), tuple(written)))
        return
    script.redirected.append((_span(body), (start, node.end_byte)))
    redirects.setdefault(_span(_last_command(body)), []).extend(written)
    if body.type not in _CALLS:
        script.runs.append(Call((), (), _span(node), tuple(written)))
    for child in node.named_children:
        for inner in child.named_children if child.type == "heredoc_redirect" else ():
            if inner.type == "heredoc_body":
                script.heredocs.append((_span(body), _slice(inner, source)))


def _last_command(node: Node) -> Node:
    while node.type in ("list", "pipeline", "redirected_statement") and node.named_children:
        node = node.named_children[-1]
    return node


def _call(node: Node, source: bytes) -> Call:
    words: list[Node] = []
    written: list[str] = []
    assigns = node.type in ("declaration_command", "unset_command")
    end = node.start_byte
    for child in node.children:
        if child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
            written.extend(_targets(child, source))
        elif child.type == "variable_assignment" and node.type == "command":
            assigns = True
        elif child.is_named or node.type != "command":
            words.append(child)
            end = child.end_byte
    start = words[0].start_byte if words else node.start_byte
    return Call(
        tuple(decode(word, source) for word in words),
        tuple(_slice(word, source) for word in words),
        (start, max(start, end)),
        tuple(written),
        assigns,
    )


def _targets(redirect: Node, source: bytes) -> list[str]:
    if redirect.type != "file_redirect" or not any(c.type in _WRITES for c in redirect.children):
        return []
    destination = redirect.child_by_field_name("destination")
    return [decode(destination, source)] if destination else []


def decode(node: Node, source: bytes) -> str:
    """The text a word stands for; what only the running shell knows becomes ``DYNAMIC``."""
    parts: list[str] = []
    stack: list[Node | str] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            parts.append(part)
        elif part.type in ("concatenation", "command_name", "string") and part.child_count:
            stack.extend(reversed(list(_pieces(part, source))))
        else:
            parts.append(_literal(part, source))
    return "".join(parts)


def _pieces(node: Node, source: bytes) -> Iterator[Node | str]:
    """The children of a word, with the text between them that the grammar gives no node."""
    at = node.start_byte
    for child in node.children:
        if at < child.start_byte:
            yield source[at : child.start_byte].decode("utf-8", "replace")
        if child.type != '"':
            yield child
        at = child.end_byte


def _literal(node: Node, source: bytes) -> str:
    text = _slice(node, source)
    if node.type == "string_content":
        return _DOUBLE_ESCAPE.sub(lambda match: match.group(1).strip("\n"), text)
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "ansi_c_string":
        return _ANSI_C.sub(_ansi_character, text[2:-1])
    if node.child_count and node.type not in ("word", "number", "extglob_pattern"):
        return DYNAMIC
    return _ESCAPE.sub(lambda match: match.group(1).strip("\n"), text)


def _ansi_character(match: re.Match[str]) -> str:
    hexadecimal, octal, letter = match.groups()
    if hexadecimal:
        return chr(int(hexadecimal, 16))
    if octal:
        return chr(int(octal, 8))
    return {"n": "\n", "t": "\t", "r": "\r"}.get(letter, letter)


def _slice(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _span(node: Node) -> Span:
    return node.start_byte, node.end_byte
