"""Any text gets an answer, and plain words are what bash itself makes of them."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from tools.gate import GateRules, judge
from tools.gate.plain import NotPlain, split

PIECES = [
    *"|&;<>()$`\\\"'{}[]*?~#!=%^ \t\n\r\0",
    *("ls", "rm -rf /", "cat", "a", "1", "-x", "&&", "||", ";;", "$(", "${", "$((", "<<E\n", "E\n"),
    *(
        "if ",
        "then ",
        "fi",
        "do ",
        "done",
        "case ",
        "esac",
        "f() ",
        "curl x",
        "|sh",
        "2>&1",
        "\\\n",
    ),
    *(
        "é",
        "你",
        "\u200b",
        "\u202e",
        "\ud800",
        "\udfff",
        "\U0001f600",
        "\uffff",
        "\x85",
        "/etc/passwd",
    ),
]

DEEP = [
    *("(", "$(", "{ ", "`", '"', "'", "[", "${a", "|", ">", "$((", "<<a ", ")", "}", ";", "&"),
    *("if ", "case a in ", "f() ", "a=1 ", "eval ", "sudo ", "bash -c '", "rm ", "curl x|a;"),
    *("\\", "\n", "#", "~", "echo a|sh;", "{,,,,", "find -exec ", "rm -rf ", "/*", "|" * 199 + "a"),
]


def test_fuzzed_texts_get_an_answer() -> None:
    chance = random.Random(20260101)
    for _ in range(2000):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 25)))
        verdict = judge(text)
        assert verdict.category in ("read", "system")
        assert verdict.why
        assert not (verdict.forbidden and verdict.category == "read")


@pytest.mark.parametrize("piece", DEEP)
@pytest.mark.parametrize("length", [4_000, 100_000])
def test_deep_and_long_texts_are_system(piece: str, length: int) -> None:
    text = (piece * length)[:length]
    assert judge(text).category == "system"
    assert judge(text, GateRules(allowed=("ls",))).category == "system"


def test_small_languages_in_arguments_cannot_stall() -> None:
    """Texts made for backtracking: each of these would run for years on a careless pattern."""
    gaps = " ".join("$1" + " " * 40 for _ in range(40))
    for text in (
        f"awk '{{print {gaps}!}}' f",
        "sed -n '/" + "a*" * 900 + "/,/" + "b*" * 900 + "!p' f",
        "printf '%" + "0" * 1800 + "n'",
        "rm -rf " + "/*" * 40_000 + "x",
        "rm -rf /" + "{*,.*}/" * 10_000 + "x",
        ";{" + "a," * 40_000,
    ):
        assert judge(text).category == "system"


def test_long_reads_are_system() -> None:
    assert judge("echo " + "word " * 500).category == "read"
    assert judge("echo " + "word " * 5000).category == "system"


@pytest.mark.skipif(shutil.which("bash") is None, reason="compares with bash, which is not here")
def test_plain_words_are_what_bash_reads() -> None:
    chance = random.Random(7)
    alphabet = [
        "a",
        "b",
        "-",
        " ",
        "'",
        '"',
        "\\",
        "#",
        "=",
        "!",
        "~",
        "é",
        "$",
        ",",
        ".",
        "/",
        "\\'",
    ]
    lines: list[str] = []
    for _ in range(3000):
        line = "echo " + "".join(chance.choices(alphabet, k=chance.randint(1, 9)))
        if _words(line) is not None:
            lines.append(line)
    assert len(lines) > 400
    script = "set -f +B; HOME='~'; echo() { printf '%s\\0' \"$@\"; printf '\\n\\0'; }\n"
    output = subprocess.run(
        ["bash", "-c", script + "\n".join(lines)],
        capture_output=True,
        check=True,
        timeout=30,
        env={"LC_ALL": "C.UTF-8"},
    ).stdout.decode()
    expected = "".join(
        "".join(word + "\0" for word in _words(line) or [""]) + "\n\0" for line in lines
    )
    assert output == expected


def _words(line: str) -> list[str] | None:
    """The arguments that the strict reader finds, or None when the line is not plain."""
    try:
        (command,) = split(line)
    except (NotPlain, ValueError):
        return None
    return [word.text for word in command.words[1:]]
