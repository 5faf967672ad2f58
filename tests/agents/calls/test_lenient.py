"""G03, G07: JSON with slips is read with equal meaning or refused, never guessed in silence."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from agents.calls.forms import read_arguments
from agents.calls.lenient import MAX_DEPTH, Unreadable, read

EQUAL: list[tuple[str, Any]] = [
    ('{"a": 1}', {"a": 1}),
    ('\ufeff {"a": 1} \n', {"a": 1}),
    ('{"a": 1,}', {"a": 1}),
    ('{"a": [1, 2, ], }', {"a": [1, 2]}),
    ("{'a': 'b \"c\" d'}", {"a": 'b "c" d'}),
    (r"{'a': 'it\'s'}", {"a": "it's"}),
    (
        '{"a": True, "b": False, "c": None, "d": null}',
        {"a": True, "b": False, "c": None, "d": None},
    ),
    ('{"a": 1 /* why */, // more\n "b": 2 # end\n}', {"a": 1, "b": 2}),
    ('{"a": "http://x/#y /* z */"}', {"a": "http://x/#y /* z */"}),
    ('{"a": "line\nline\ttab"}', {"a": "line\nline\ttab"}),
    (r'{"a": "\u00e9\n\"\\\/", }', {"a": 'é\n"\\/'}),
    (r'{"a": "\ud83d\ude00", }', {"a": "😀"}),
    (r'{"a": "\ud800"}', {"a": "\ufffd"}),
    (r'{"\udfff": "x\u0000", }', {"\ufffd": "x\ufffd"}),
    ('{"a": -1.5e3, "b": 0, "c": -0}', {"a": -1500.0, "b": 0, "c": 0}),
    ("{}", {}),
    ("[" * MAX_DEPTH + "]" * MAX_DEPTH, json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)),
    ('{"a": {}}', {"a": {}}),
]


@pytest.mark.parametrize(("text", "value"), EQUAL)
def test_read_with_equal_meaning(text: str, value: Any) -> None:
    found = read(text)
    assert (found.values, found.repaired) == ([value], False)
    assert read(text, mend=False).values == [value]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":{"b":1}', {"a": {"b": 1}}),
        ('{"a":"x"', {"a": "x"}),
        ('{"a":["x"] \n', {"a": ["x"]}),
        ('{"a":true', {"a": True}),
        (r'{"a": "\d+\w"}', {"a": r"\d+\w"}),
    ],
)
def test_guesses_are_marked_and_may_be_forbidden(text: str, value: Any) -> None:
    found = read(text)
    assert (found.values, found.repaired) == ([value], True)
    with pytest.raises(Unreadable):
        read(text, mend=False)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1',  # The number may have gone on.
        '{"a":-',
        '{"a":{"b":1',
        '{"a":{"b":"x"',
        '{"a":["x"',
        '{"a":',
        '{"a"',
        '{"a":"x',
        '{"a":"x",',
        "{",
        '{"a":tru',
        "{'a': 'it's'}",
        "{a: 1}",
        '{"a" 1}',
        '{"a":1 "b":2}',
        '{"a":1}}',
        '{"a":1} and so on',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 1e999}',
        '{"a": 9223372036854775808}',
        '{"a": 0x10}',
        '{"a": 01}',
        r'{"a": "\u12"}',
        '{"a": "\\',
        "{'a': (1, 2)}",
        '{"a": ,}',
        "[,]",
        "/* open",
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        '{"a":' * 5000 + "1" + "}" * 5000,
        "[" * 100_000,
        "{'a':" * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
        "1" * 10_000,
        "{} " * 300,
    ],
)
def test_refused_with_a_reason(text: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read(text)
    assert 10 < len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", [{}]),
        (" \n", [{}]),
        ("null", [{}]),
        ("{}", [{}]),
        ('"{\\"a\\": 1}"', [{"a": 1}]),
        ('{"u":1}{"u":2}\n{"q":3} {"u":4}', [{"u": 1}, {"u": 2}, {"q": 3}, {"u": 4}]),
        ('{}{"u":1}', [{"u": 1}]),
        ("{}{}", [{}]),
    ],
)
def test_arguments(text: str, values: list[dict[str, Any]]) -> None:
    assert read_arguments(text) == (values, False)


@pytest.mark.parametrize("text", ["[1]", "7", '"text"', '{"a":1}[2]', '{"a":1}{"b":', "true"])
def test_arguments_are_objects(text: str) -> None:
    with pytest.raises(Unreadable):
        read_arguments(text)


def test_cut_arguments_are_never_read_without_a_mark() -> None:
    whole = json.dumps({"path": "a/b.txt", "lines": [1, 22, {"x": None}], "text": 'é "q" \\n'})
    for cut in range(1, len(whole)):
        try:
            found = read(whole[:cut])
        except Unreadable:
            continue
        # Cut right behind a member of the outermost object: nothing but its brace is missing.
        assert found.repaired
        assert whole[cut] in ",}"
        assert all(json.loads(whole)[key] == value for key, value in found.values[0].items())


def test_mutations_never_crash() -> None:
    chance = random.Random(7)
    seeds = [text for text, _ in EQUAL]
    read_well = 0
    for _ in range(4000):
        text = list(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(text) + 1)
            text[place : place + chance.randint(0, 2)] = chance.choice(
                ["", "{", "}", '"', "'", "\\", ",", ":", "/*", "#", "\ud800", "\x00", "[", "1", "e"]
            )
        try:
            found = read("".join(text))
        except Unreadable:
            continue
        read_well += 1
        json.dumps(found.values, ensure_ascii=False).encode()
    assert 100 < read_well < 3900
