"""G05: markup of calls in text is parsed or reported, and never shown."""

from __future__ import annotations

import pytest

from agents.calls import CallAssembler
from tests.agents.calls.conftest import asked, assemble

SIZES = [1, 2, 7, 10_000]
R, W, S = "read_file", "write_file", "web_search"
HERMES = '{"name": "read_file", "arguments": {"path": "a"}}'
READ = [(R, {"path": "a"})]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("text", "shown", "calls"),
    [
        (f"<tool_call>{HERMES}</tool_call>", "", READ),
        (f"I look.\n\n<tool_call>\n{HERMES}\n</tool_call>\n\nDone", "I look.\n\nDone", READ),
        (f"a<tool_call>{HERMES}</tool_call> b", "a b", READ),
        (f"<tool_call>{HERMES}\n{HERMES}</tool_call>", "", READ * 2),
        (f"<tool_call>[{HERMES}, {HERMES}]</tool_call>", "", READ * 2),
        (f"<tool_call>{HERMES}</tool_call>\n<tool_call>{HERMES}", "", READ * 2),
        (f"<tool_call>{HERMES}<tool_call>{HERMES}</tool_call>", "", READ * 2),
        (f"<tool_call>{HERMES}</tool_call></tool_call>", "", READ),
        (f"<tool_call></tool_call><tool_call>{HERMES}</tool_call>", "", READ),
        (
            '<tool_call>{"name":"write_file","arguments":{"text":"</tool_call> \\" <tool_call>"}}'
            "</tool_call>end",
            "end",
            [(W, {"text": '</tool_call> " <tool_call>'})],
        ),
        (
            "<tool_call>{'name': 'write_file', 'arguments': {'text': 'say \"hi', 'b': None,}}"
            "</tool_call>end",
            "end",
            [(W, {"text": 'say "hi', "b": None})],
        ),
        (
            '<tool_call>{"name": "no_such_tool", "parameters": {}}</tool_call>',
            "",
            [("no_such_tool", {})],
        ),
        ('<tool_call>{"name": "read_file"}</tool_call>', "", [(R, {})]),
        (
            '<tool_call>{"name": "read_file", "arguments": "{\\"path\\": \\"a\\"}"}</tool_call>',
            "",
            READ,
        ),
        (
            '<tool_call>{"type": "function", "function": {"name": "read_file", "arguments": {}}}'
            "</tool_call>",
            "",
            [(R, {})],
        ),
        ('<function=read_file>{"path": "a"}</function>', "", READ),
        ("<function=read_file></function> ok", "ok", [(R, {})]),
        ("<function=read_file><parameter=path>a</parameter></function>", "", READ),
        (
            "Hm.\n<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n"
            '<parameter=text>\nif x < 1:\n    </function>"\n\n</parameter>\n</function>\n'
            "</tool_call>\nDone",
            "Hm.\nDone",
            [(W, {"path": "a", "text": 'if x < 1:\n    </function>"\n'})],
        ),
        (
            "<tool_call><function=read_file><parameter=path>a</parameter></tool_call>",
            "",
            READ,
        ),
        (
            "<function=read_file>\n<parameter=path>a</parameter>\n<function=web_search>\n"
            "<parameter=q>b</parameter></function>",
            "",
            [*READ, (S, {"q": "b"})],
        ),
        ('<|tool_call_start|>[read_file(path="a")]<|tool_call_end|>', "", READ),
        (
            "<|tool_call_start|>[read_file(path='a', n=-1.5, x=[True, None, {'k': \"v]\"}],), "
            'web_search(q="<|tool_call_end|>")]<|tool_call_end|>And?',
            "And?",
            [
                (R, {"path": "a", "n": -1.5, "x": [True, None, {"k": "v]"}]}),
                (S, {"q": "<|tool_call_end|>"}),
            ],
        ),
        ("<|tool_call_start|>read_file()<|tool_call_end|>", "", [(R, {})]),
        (f"<|tool_call_start|>[{HERMES}]<|tool_call_end|>", "", READ),
        (f"Look:\n```json\n{HERMES}\n```", "Look:\n", READ),
        (f"```tool_call\n[{HERMES}]\n```\n", "", READ),
        (f"```json\n{HERMES}", "", READ),
        (
            '```json\n{"tool": "web_search", "parameters": {"q": "```"}}\n```',
            "",
            [(S, {"q": "```"})],
        ),
        (f" \n{HERMES}\n", " \n", READ),
        (f"[{HERMES},{HERMES}]", "", READ * 2),
        ('{"arguments": {"path": "a"}, "name": "read_file"}', "", READ),
    ],
)
def test_calls_in_text(
    text: str, shown: str, calls: list[tuple[str, dict[str, object]]], size: int
) -> None:
    visible, found = assemble(text, size)
    assert (visible, asked(found)) == (shown, calls)
    assert not any(
        call.repaired for call in found if text.endswith(("</tool_call>", "</function>"))
    )
    # A cut stream gives no calls, and shows no marker either.
    visible, found = assemble(text, size, complete=False)
    assert found == []
    assert "tool_call>" not in visible.replace("```tool_call", "")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "text",
    [
        "plain words, 3 < 4 and a <b>tag</b>\n",
        "a `<tool_call>` tag and `<function=NAME>` too, `</tool_call>`",
        "</tool_call> </parameter> in XML: <parameter name='x'>y</parameter>",
        "one < two <",
        "half a fence ``",
        "```json",
        "```json\n",
        '```json\n{"name": "Alice", "arguments": {"for": "it"}}\n```',
        '```json\n{"name": "read_file", "arguments": {"path": "a"}}\n```\nThis reads a.',
        '```json\n{"name": "read_file", "age": 7}\n```',
        '```json\n{"name": "read_file"}\n```',
        '```json\n{"name": "read_file", "arguments": {"path": "a"}\n```',
        '```json\n{"name": "read_fil',
        "```json\n[1, 2]\n```\n```json\n{}\n```",
        '```jsonc\n{"name": "read_file", "arguments": {}}\n```',
        '```python\n{"name": "read_file", "arguments": {}}\n```',
        'inline ```json {"name": "read_file", "arguments": {}}```',
        'See: {"name": "read_file", "arguments": {}}',
        '{"name": "Alice", "arguments": {}}',
        '{"name": "read_file", "arguments": {}} is how to read.',
        '{"name": "read_file", "arguments": {"a": 1',
        '{"name": "read_file", "arguments": [1]}',
        '{"tool": "hammer"}',
        '{"id": 1, "items": []}',
        "{}",
        "[]",
        "{ not json",
        "[1] a footnote\n[2] another",
        '{"' + "x" * 100,
        "{" + " " * 200 + '"name": "read_file"}',
        "",
        " \n ",
    ],
)
def test_text_stays_text(text: str, size: int) -> None:
    assert assemble(text, size) == (text, [])
    assert assemble(text, size, complete=False) == (text, [])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<tool_call>read the file</tool_call>", "unknown"),
        ('<tool_call>{"name": "write_file", "arguments": {"a": }}</tool_call>', W),
        ('<tool_call>{"name": "write_file", "arguments": {"a": "x', W),
        ('<tool_call>{"name": "write_file", "arguments": [1]}</tool_call>', W),
        ('<tool_call>{"name": "write_file", "path": "a"}</tool_call>', W),
        ('<tool_call>{"name": "write_file", "arguments": {}} and {</tool_call>', W),
        ('<function=write_file>{"a": }</function>', W),
        ("<function=write_file>words</function>", W),
        ("<function=write_file><parameter=a>x<parameter=b>y</parameter></function>", W),
        ("<function=write_file><parameter=a>x</parameter><parameter=a>y</parameter></function>", W),
        ("<function=write_file><parameter=a>x", W),
        ("<function=write_file><parameter=a>x</parameter> rest </function>", W),
        # The value itself held closing tags: where it ends is not certain.
        (
            "<function=write_file><parameter=a>x</parameter></function> y</parameter></function>",
            W,
        ),
        ("<|tool_call_start|>[write_file('a')]<|tool_call_end|>", W),
        ("<|tool_call_start|>[write_file(a=b)]<|tool_call_end|>", W),
        ("<|tool_call_start|>[write_file(a=1, a=2)]<|tool_call_end|>", W),
        ("<|tool_call_start|>[write_file(a=1)] or not<|tool_call_end|>", W),
        ("<|tool_call_start|>[write_file(a=1", W),
        ("<|tool_call_start|>[write_file(a=__import__('os'))]<|tool_call_end|>", W),
    ],
)
def test_what_cannot_be_read_is_reported(text: str, name: str, size: int) -> None:
    visible, calls = assemble(text, size)
    assert [(call.name, call.arguments) for call in calls] == [(name, {})]
    assert calls[0].error
    assert calls[0].id
    for marker in ("tool_call", "<function", "</function", "parameter"):
        assert marker not in visible


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{HERMES}",
        "<function=read_file><parameter=path>a</parameter>",
        '<|tool_call_start|>[read_file(path="a")]',
        '<tool_call>{"name": "read_file", "arguments": {"path": "a"',
    ],
)
def test_an_open_form_at_the_length_limit_is_an_error(text: str, size: int) -> None:
    _, calls = assemble(text, size, limited=True)
    assert [(call.name, call.arguments) for call in calls] == [(R, {})]
    assert "length limit" in str(calls[0].error)


def test_an_open_form_is_read_with_a_mark() -> None:
    _, calls = assemble("<function=read_file><parameter=path>a</parameter>")
    assert (asked(calls), calls[0].repaired) == (READ, True)
    _, calls = assemble('<tool_call>{"name": "read_file", "arguments": {"path": "a"}')
    assert (asked(calls), calls[0].repaired) == (READ, True)


@pytest.mark.parametrize("size", SIZES)
def test_a_tag_that_is_only_spoken_of_does_not_swallow_the_answer(size: int) -> None:
    visible, calls = assemble("The <tool_call> tag opens a call.", size)
    assert (visible, calls) == ("The  tag opens a call.", [])


def test_text_is_shown_as_it_comes() -> None:
    assembler = CallAssembler(["read_file"])
    shown = [assembler.text(piece) for piece in ("Hello", " a <", "b>", " ```", "py", "\n{")]
    assert shown == ["Hello", " a ", "<b>", " ", "```py", "\n{"]
    # A block of JSON is let go as soon as it can be no call.
    pieces = ('\n```json\n{"na', 'me": "read', '_me"', ', "x": 1}', "\n```")
    shown = [assembler.text(piece) for piece in pieces]
    assert shown == ["\n", "", '```json\n{"name": "read_me"', ', "x": 1}', "\n"]
    assert assembler.finish(complete=True) == ("```", [])


def test_long_text_without_calls_costs_one_pass() -> None:
    """Adversarial text: what is looked at again is bounded, whatever the size."""
    for unit in ("<tool_call", "```json\n{", '```json\n{"name": "read_file", "x": ', "<", "`", "{"):
        text = unit * 20_000
        visible, calls = assemble(text, 4096)
        assert calls == []
        assert text.startswith(visible[:-16])
        assert len(text) - len(visible) < 16
