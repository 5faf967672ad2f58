"""Fragments of structured calls, ids, limits, and both kinds of calls in one answer."""

from __future__ import annotations

import pytest

from agents.calls import MAX_ARGUMENTS, MAX_CALLS, CallAssembler
from agents.providers.base import ToolCallDelta, ToolCallPart
from tests.agents.calls.conftest import KNOWN, asked


def finish(*deltas: ToolCallDelta, limited: bool = False) -> list[ToolCallPart]:
    assembler = CallAssembler(KNOWN)
    for delta in deltas:
        assembler.delta(delta)
    return assembler.finish(complete=True, limited=limited)[1]


def test_fragments_by_key() -> None:
    calls = finish(
        ToolCallDelta("1", "b", "web_search"),
        ToolCallDelta("0", "a", "read_file", '{"pa'),
        ToolCallDelta("1", arguments='{"q":'),
        ToolCallDelta("0", arguments='th":"a"}'),
        ToolCallDelta("1", arguments="[]}"),
    )
    assert [call.id for call in calls] == ["b", "a"]
    assert asked(calls) == [("web_search", {"q": []}), ("read_file", {"path": "a"})]


def test_glued_objects_are_several_calls_with_ids_of_their_own() -> None:
    """G01."""
    calls = finish(ToolCallDelta("0", "", "f", '{"u":1}{"u":2}{"q":3}{"u":4}'))
    assert asked(calls) == [("f", {"u": 1}), ("f", {"u": 2}), ("f", {"q": 3}), ("f", {"u": 4})]
    calls = finish(ToolCallDelta("0", "first", "f", '{"u":1} {"u":2}'))
    assert calls[0].id == "first"
    assert calls[1].id != "first"


def test_a_lost_brace_is_marked() -> None:
    """G03."""
    (call,) = finish(ToolCallDelta("0", "a", "f", '{"a":{"b":1}'))
    assert (call.arguments, call.repaired, call.error) == ({"a": {"b": 1}}, True, None)


@pytest.mark.parametrize("text", ['{"a":1', '{"a":"x', '{"a":{"b":{', '{"a":1}{"a"', "[1]", "{]"])
def test_what_cannot_be_read_is_an_error_with_the_id(text: str) -> None:
    (call,) = finish(ToolCallDelta("0", "a", "f", text))
    assert (call.id, call.name, call.arguments) == ("a", "f", {})
    assert call.error


@pytest.mark.parametrize("text", ["", '{"a":"x"', '{"a":{"b":1}', '{"a'])
def test_nothing_is_guessed_at_the_length_limit(text: str) -> None:
    """G15: also arguments that never came."""
    whole, part = finish(
        ToolCallDelta("0", "a", "f", "{}"), ToolCallDelta("1", "b", "g", text), limited=True
    )
    assert (whole.arguments, whole.error) == ({}, None)
    assert part.error
    assert part.arguments == {}


@pytest.mark.parametrize(
    "name", ["", "Read_File", "read_file ", "reаd_file", "nope", "x" * 500, "web_fetchweb_search"]
)
def test_names_are_left_as_they_are(name: str) -> None:
    """G09: nothing is mapped to the nearest tool."""
    calls = finish(ToolCallDelta("0", "a", name, "{}"), ToolCallDelta("1", "b", "read_file", "{}"))
    assert [call.name for call in calls] == [name, "read_file"]


def test_lone_surrogates_are_replaced() -> None:
    """G11."""
    (call,) = finish(
        ToolCallDelta(
            "0",
            "a",
            "f\ud800",
            '{"x":"\\ud800", "y": "\ud83d',
        )
    )
    assert call.name == "f\ufffd"
    halves = (ToolCallDelta("0", "a", "f", '{"x":"\ud83d'), ToolCallDelta("0", "", "", '\ude00"}'))
    (call,) = finish(*halves)
    assert call.arguments == {"x": "😀"}


@pytest.mark.parametrize(
    "ids", [("a", "a", "a"), ("", "", ""), ("a b", "é", "x" * 65), ("a", "", "a")]
)
def test_ids_are_unique(ids: tuple[str, ...]) -> None:
    calls = finish(*(ToolCallDelta(str(n), id_, "f", "{}") for n, id_ in enumerate(ids)))
    assert len({call.id for call in calls}) == 3
    assert all(call.id.isascii() and 0 < len(call.id) <= 64 for call in calls)


def test_too_many_calls() -> None:
    deltas = [ToolCallDelta(str(n), f"c{n}", "f", f'{{"n":{n}}}') for n in range(MAX_CALLS + 30)]
    calls = finish(*deltas)
    assert len(calls) == MAX_CALLS
    assert [call.arguments["n"] for call in calls[:-1]] == list(range(MAX_CALLS - 1))
    assert "64" in str(calls[-1].error)
    glued = finish(ToolCallDelta("0", "a", "f", '{"n":1}' * 200))
    assert (len(glued), bool(glued[-1].error)) == (MAX_CALLS, True)
    assert len(finish(*deltas[:MAX_CALLS])) == MAX_CALLS
    assert finish(*deltas[:MAX_CALLS])[-1].error is None


def test_too_large_arguments() -> None:
    piece = "x" * 4096
    deltas = [ToolCallDelta("0", "a", "f", '{"x":"')]
    deltas += [ToolCallDelta("0", arguments=piece)] * (MAX_ARGUMENTS // len(piece) + 1)
    (call,) = finish(*deltas, ToolCallDelta("0", arguments='"}'))
    assert call.arguments == {}
    assert "larger than" in str(call.error)


def test_too_large_arguments_in_text() -> None:
    assembler = CallAssembler(KNOWN)
    head = '<tool_call>{"name":"read_file","arguments":{"path":"'
    shown = assembler.text(head)
    for _ in range(600):
        shown += assembler.text("x" * 4096)
    shown += assembler.text('"}}</tool_call>after')
    rest, calls = assembler.finish(complete=True)
    assert (shown + rest, calls[0].name, calls[0].arguments) == ("after", "read_file", {})
    assert "too large" in str(calls[0].error)


def test_fragments_without_anything_are_no_call() -> None:
    assert finish(ToolCallDelta("0"), ToolCallDelta("0", arguments=" ")) == []


def test_text_and_fragments_in_one_answer() -> None:
    assembler = CallAssembler(KNOWN)
    tag = '<tool_call>{"name":"%s","arguments":{}}</tool_call>'
    assembler.text(tag % "web_search")
    assembler.delta(ToolCallDelta("0", "a", "read_file", "{}"))
    # The server parsed this tag and left it in the text too.
    assembler.text(tag % "read_file")
    _, calls = assembler.finish(complete=True)
    assert [call.name for call in calls] == ["web_search", "read_file"]


def test_a_cut_answer_has_no_calls() -> None:
    """G15."""
    assembler = CallAssembler(KNOWN)
    assembler.delta(ToolCallDelta("0", "a", "read_file", "{}"))
    shown = assembler.text('Hm <tool_call>{"name":"read_file","arguments":{}}</tool_call> <tool')
    assert (shown, assembler.finish(complete=False)) == ("Hm ", ("", []))
