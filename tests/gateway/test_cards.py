"""A card shows all that will run, and nothing that deceives the eye."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.template.loader import render_to_string

from gateway.web.markdown import MAX_PAINTED, blocks, render
from gateway.web.timeline import CallLine
from hermes_site.lib import clock
from tools.models import Approval, ToolCall
from tools.services.request import shown

RIGHT_TO_LEFT, NOTHING = "\u202e", "\u200b"


def line(arguments: dict[str, Any], command: str = "") -> CallLine:
    call = ToolCall(name="shell", category="system", arguments=arguments)
    now = clock.now()
    approval = Approval(
        tool_call=call, tool="shell", command=command, created_at=now, expires_at=now
    )
    return CallLine(call, approval)


def test_beside_a_command_stand_the_other_arguments() -> None:
    shell = line({"command": "rm -rf .", "workdir": "important", "timeout": 600}, "rm -rf .")
    html = render_to_string("portal/parts/card.html", {"line": shell, "approval": shell.approval})
    assert "rm -rf ." in html
    assert "important" in html
    assert "600" in html


def test_nested_arguments_hide_nothing() -> None:
    found = shown({"items": [{f"k{NOTHING}": f"safe{RIGHT_TO_LEFT}txt.exe"}], "n": 5})
    text = json.dumps(found, ensure_ascii=False)
    assert RIGHT_TO_LEFT not in text
    assert NOTHING not in text
    assert found["n"] == 5


def test_what_is_edited_is_exact_and_visible() -> None:
    arguments = {"path": f"a{RIGHT_TO_LEFT}b", "items": [f"x{NOTHING}y", "\U000e0041", "好 😀"]}
    editable = line(arguments).editable
    assert RIGHT_TO_LEFT not in editable
    assert NOTHING not in editable
    assert "好 😀" in editable
    assert json.loads(editable) == arguments


@pytest.mark.parametrize(
    "text", ["one\rtwo\n\nthree", "a\r\n\r\nb", "\r", "x\r\r\ry", "`\r", "😀\r\n\r\n好"]
)
def test_blocks_end_where_the_text_ends(text: str) -> None:
    length = len(text.encode("utf-16-le")) // 2
    ends = [block.end for block in blocks(text)]
    assert ends == sorted(ends)
    assert all(end <= length for end in ends)


def test_long_code_is_not_painted() -> None:
    assert "<span" in render("```python\nimport os\n```")
    assert "<span" not in render(f"```c\n{chr(9) * MAX_PAINTED}\n```")
