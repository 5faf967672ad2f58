"""Prompts are files here; a name that is not given is an error, not an empty string."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template
from typing import Any


@cache
def _template(name: str) -> Template:
    return Template((Path(__file__).parent / f"{name}.md").read_text())


def render(name: str, facts: dict[str, Any]) -> str:
    """The prompt ``name`` with ``$fact`` filled in. Raises ``KeyError`` for a missing one."""
    return _template(name).substitute(facts).strip()
