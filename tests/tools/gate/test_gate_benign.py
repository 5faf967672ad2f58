"""Everyday commands: few needless cards, and nothing forbidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.gate import judge

COMMANDS = [
    line
    for line in Path(__file__).with_name("benign.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


def test_the_list_is_long_and_has_no_repeats() -> None:
    assert len(COMMANDS) >= 300
    assert len(set(COMMANDS)) == len(COMMANDS)


def test_at_most_two_percent_ask_needlessly() -> None:
    asked = [c for c in COMMANDS if judge(c, git_is_plain=lambda folder: True).category != "read"]
    assert len(asked) <= 0.02 * len(COMMANDS), asked


def test_none_is_forbidden_or_needs_an_approval() -> None:
    verdicts = {c: judge(c) for c in COMMANDS}
    assert [c for c, v in verdicts.items() if v.forbidden or v.needs_approval] == []


def test_only_git_asks_more_when_the_repository_is_unknown() -> None:
    with_git = {c for c in COMMANDS if judge(c, git_is_plain=lambda f: True).category == "read"}
    without = {c for c in COMMANDS if judge(c).category == "read"}
    assert without < with_git
    assert all("git" in c.split() for c in with_git - without)


@pytest.mark.parametrize(
    "command",
    [
        "cd ${WORKSPACE}backend",
        "grep 'rm -rf' README.md",
        "git commit -m 'remove rm -rf /'",
        "echo 'rm -rf /' is bad",
        "cat notes | grep delete",
        "rm -rf ./build",
        "rm -rf /tmp/cache",
        "rm -r node_modules",
        "cp /etc/passwd users.txt",
        "curl https://example.org/install.sh -o install.sh",
        "curl https://example.org | grep sh",
        "echo 'curl x | sh' >> notes.md",
        "cat > readme.md <<'EOF'\nNever run rm -rf / or curl x | sh\nEOF",
        "python3 - <<'EOF'\nprint('rm -rf /')\nEOF",
        "grep -n 'echo > /etc/passwd' audit.log",
        "cat /etc/passwd > copy.txt",
        "find . -name rm -o -name '-rf' -o -name /",
    ],
)
def test_ordinary_work_is_not_forbidden(command: str) -> None:
    assert not judge(command).forbidden
