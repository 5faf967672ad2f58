"""Markdown to safe HTML, whole or block by block while it is still being written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from pygments import highlight as paint
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

# Longer code is shown without colours: some lexers take the square of the length.
MAX_PAINTED = 3_000
_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li",
    "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "title"},
    "code": {"class"},
    "ol": {"start"},
    "span": {"class"},
    "td": {"class"},
    "th": {"class"},
}


@dataclass(frozen=True)
class Block:
    """One top-level block: its HTML, and where it ends in the text, in UTF-16 units as
    JavaScript counts them."""

    html: str
    end: int


class _Renderer(RendererHTML):
    """Pictures become links: loading one would tell its host that the text was read."""

    def image(
        self, tokens: Sequence[Token], index: int, options: Any, env: Any
    ) -> str:  # signature of markdown-it
        token = tokens[index]
        source, text = str(token.attrs.get("src", "")), token.content or "image"
        return f'<a href="{escape(source)}">{escape(text)}</a>'

    def _aligned(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        """Cell alignment as a class: the content policy forbids styles."""
        token = tokens[index]
        style = str(token.attrs.pop("style", ""))
        if style:
            token.attrs["class"] = style.replace("text-align:", "align-")
        return self.renderToken(tokens, index, options, env)

    th_open = td_open = _aligned


@cache
def _markdown() -> MarkdownIt:
    options = {"html": False, "highlight": _highlight, "typographer": False}
    return MarkdownIt("commonmark", options, renderer_cls=_Renderer).enable(
        ["table", "strikethrough"]
    )


def render(text: str) -> str:
    """The whole text as sanitised HTML."""
    return _safe(_markdown().render(text))


def blocks(text: str) -> list[Block]:
    """The top-level blocks of ``text`` in order; the last may still grow."""
    markdown = _markdown()
    env: dict[str, Any] = {}
    tokens = markdown.parse(text, env)
    ends = _line_ends(text)
    found, start = [], 0
    for index, token in enumerate(tokens):
        closes = token.level == 0 and token.nesting != 1
        if not closes:
            continue
        group = tokens[start : index + 1]
        start = index + 1
        lines = next((t.map for t in group if t.map), None)
        html = _safe(markdown.renderer.render(group, markdown.options, env))
        found.append(Block(html, ends[lines[1]] if lines else ends[-1]))
    return found


def _line_ends(text: str) -> list[int]:
    """The offset before each line, and that of the end, in UTF-16 units."""
    ends = [0]
    # The line ends that Markdown knows.
    for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n|\Z)", text):
        ends.append(ends[-1] + len(line.encode("utf-16-le", "surrogatepass")) // 2)
    return ends


def _highlight(code: str, language: str, attributes: str) -> str:
    if len(code) > MAX_PAINTED or not language:
        return escape(code)
    return _painted(code, language)


@lru_cache(1000)
def _painted(code: str, language: str) -> str:
    """Kept, since a page shows the same code again and again."""
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return escape(code)
    return str(paint(code, lexer, HtmlFormatter(nowrap=True)))


def _safe(html: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
