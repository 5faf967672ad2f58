"""git reads only where no setting names a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.gate import PlainRepositories, judge, settings_are_plain

PLAIN = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
# a note
[remote "origin"]
\turl = https://example.org/alice/project.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
[user]
\tname = Alice
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    git = tmp_path / ".git"
    (git / "hooks").mkdir(parents=True)
    (git / "hooks" / "pre-commit.sample").write_text("#!/bin/sh\n")
    (git / "objects").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(PLAIN)
    (tmp_path / "src").mkdir()
    return tmp_path


def category(workspace: Path, command: str) -> str:
    return judge(command, git_is_plain=PlainRepositories(workspace, workspace)).category


def test_a_plain_repository_is_read(workspace: Path) -> None:
    for command in (
        "git status",
        "git diff --stat | head",
        "cd src && git log",
        "git -C src status",
        "cd ./src; git status",
    ):
        assert category(workspace, command) == "read", command


def test_a_workspace_without_a_repository_is_read(tmp_path: Path) -> None:
    assert category(tmp_path, "git status") == "read"


@pytest.mark.parametrize(
    "config",
    [
        "[core]\n\tfsmonitor = touch marker\n",
        "[core] fsmonitor = touch marker\n",
        "[CORE]\nFSMonitor=touch marker\n",
        "[core]\n\tpager = sh\n",
        "[core]\n\thooksPath = x\n",
        "[core]\n\tsshCommand = x\n",
        "[core]\n\tworktree = ..\n",
        "[core]\n\tfilemode = tr\\\nue\n",
        '[filter "x"]\n\tclean = sh\n',
        "[diff]\n\texternal = sh\n",
        '[diff "x"]\n\ttextconv = sh\n',
        "[gpg]\n\tprogram = sh\n",
        "[log]\n\tshowSignature = true\n",
        "[alias]\n\tst = !sh\n",
        "[include]\n\tpath = other\n",
        '[includeIf "gitdir:x"]\n\tpath = other\n',
        '[remote "o"]\n\tpromisor = true\n',
        '[remote "o"]\n\tuploadpack = sh\n',
        "[extensions]\n\tpartialClone = o\n",
        "[pager]\n\tlog = sh\n",
        "[core]\n\tbare\n",
        "[user]\n\tname = a\x0b[core]\n",
        "[user]\r\n\tname = a\r\n",
        "fsmonitor = x\n",
        '[core "x\\"]"]\n',
    ],
)
def test_a17_a_setting_that_may_name_a_program_is_system(workspace: Path, config: str) -> None:
    assert not settings_are_plain(config)
    (workspace / ".git" / "config").write_text(PLAIN + config)
    for command in ("git status", "git log", "git diff", "cd src && git show", "git -C src log"):
        assert category(workspace, command) == "system"


def test_a17_the_users_own_settings_count(workspace: Path) -> None:
    (workspace / ".gitconfig").write_text("[user]\n\tname = Alice\n")
    assert category(workspace, "git status") == "read"
    (workspace / ".gitconfig").write_text("[core]\n\tfsmonitor = touch marker\n")
    assert category(workspace, "git status") == "system"


def _submodule(root: Path) -> None:
    (root / ".git" / "index").write_bytes(b"DIRC" + b"\0" * 30 + b"\x00\x00\xe0\x00" + b"\0" * 40)


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / ".gitmodules").write_text(""),
        lambda root: (root / ".git" / "modules").mkdir(),
        lambda root: (root / ".git" / "commondir").write_text("../x"),
        lambda root: (root / ".git" / "config.worktree").write_text(""),
        lambda root: (root / ".git" / "hooks" / "post-index-change").write_text("#!/bin/sh\n"),
        lambda root: (root / ".git" / "sharedindex.1234").write_text(""),
        lambda root: (root / ".git" / "config").unlink(),
        lambda root: (root / ".git" / "config").write_bytes(b"#" * 100_000),
        _submodule,
    ],
)
def test_an_unusual_repository_is_system(workspace: Path, change: object) -> None:
    assert callable(change)
    change(workspace)
    assert category(workspace, "git status") == "system"


def test_a_nested_or_bare_or_linked_repository_is_system(workspace: Path) -> None:
    (workspace / "src" / ".git").write_text("gitdir: ../elsewhere\n")
    bare = workspace / "bare"
    (bare / "objects").mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (workspace / "linked").mkdir()
    (workspace / "linked" / ".git").symlink_to(workspace / ".git")
    for folder in ("src", "bare", "linked"):
        assert category(workspace, f"cd {folder} && git status") == "system"
        assert category(workspace, f"git -C {folder} status") == "system"
    assert category(workspace, "git status") == "read"


def test_a_folder_outside_the_workspace_is_system(workspace: Path) -> None:
    root = workspace / "src"
    (root / "link").symlink_to(workspace)
    for command in (
        "cd .. && git status",
        "cd link && git status",
        "cd / && git status",
        "cd ~ && git status",
        "cd && git status",
        "cd - && git status",
        "git -C /tmp status",
        "git -C .. log",
        "cd a && cd b && git status",
        "cd s* && git status",
        "cd 'a\0b' && git status",
    ):
        assert category(root, command) == "system", command


def test_a_failing_cd_leaves_git_where_it_was(workspace: Path) -> None:
    (workspace / ".git" / "config").write_text("[core]\n\tfsmonitor = x\n")
    inner = workspace / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / ".git" / "config").write_text(PLAIN)
    assert category(workspace, "git -C inner status") == "read"
    assert category(workspace, "cd inner; git status") == "system"
    assert category(workspace, "cd inner || git status") == "system"
