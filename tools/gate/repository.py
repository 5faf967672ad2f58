"""Owns the check that a git repository's settings name no program.

It reads a workspace as git would find it: upward from a folder to the workspace's root, and
the user's own ``.gitconfig``. Anything unusual counts as not plain; nothing is executed.
"""

from __future__ import annotations

import re
from pathlib import Path

_SECTION = re.compile(r'\[([a-z]+)(?: "[^"\\\n]*")?\]', re.IGNORECASE)
_SETTING = re.compile(r"([a-z][a-z0-9]*)\s*=\s*([^\\\"\n]*)", re.IGNORECASE)
_PLAIN_SETTINGS = {
    "core": {
        "repositoryformatversion",
        "filemode",
        "bare",
        "logallrefupdates",
        "ignorecase",
        "precomposeunicode",
        "symlinks",
        "autocrlf",
        "quotepath",
    },
    "remote": {"url", "fetch", "pushurl", "tagopt"},
    "branch": {"remote", "merge", "rebase"},
    "user": {"name", "email"},
    "init": {"defaultbranch"},
    "pull": {"rebase", "ff"},
    "push": {"default", "autosetupremote"},
    "color": {"ui"},
}
_MOST_CONFIG = 64 * 1024
_MOST_INDEX = 16 * 1024 * 1024
# The mode of an index entry that is another repository, whose settings git would obey too.
_SUBMODULE_MODE = b"\x00\x00\xe0\x00"


def settings_are_plain(config: str) -> bool:
    """Whether every line of a git configuration is one that cannot name a program or a file."""
    known: set[str] = set()
    if any(ord(char) < 32 and char not in "\t\n" for char in config):
        return False
    for line in config.split("\n"):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if section := _SECTION.fullmatch(stripped):
            known = _PLAIN_SETTINGS.get(section.group(1).lower(), set())
            continue
        setting = _SETTING.fullmatch(stripped)
        if setting is None or setting.group(1).lower() not in known:
            return False
    return True


class PlainRepositories:
    """Answers whether git, run in a folder of a workspace, obeys plain settings only.

    ``root`` is the workspace on this machine, ``cwd`` the folder inside it where the command
    starts, ``home`` the folder that git takes for the user's own (by default ``root``).
    """

    def __init__(self, root: Path, cwd: Path, home: Path | None = None) -> None:
        self.root = root.resolve()
        self.cwd = cwd
        self.home = home or root

    def __call__(self, folder: str) -> bool:
        """``folder`` is relative to ``cwd``; one outside the workspace is never plain."""
        try:
            return not folder.startswith(("/", "~")) and self._is_plain(self.cwd / folder)
        except (OSError, ValueError, RuntimeError):
            return False

    def _is_plain(self, folder: Path) -> bool:
        place = folder.resolve()
        if not place.is_relative_to(self.root):
            return False
        for config in (self.home / ".gitconfig", self.home / ".config" / "git" / "config"):
            if not _plain_file(config, missing_ok=True):
                return False
        while True:
            if (place / ".git").is_symlink() or (place / ".git").exists():
                return _plain_git_folder(place)
            if (place / "HEAD").exists() and (place / "objects").exists():
                return False
            if place == self.root:
                return True
            place = place.parent


def _plain_git_folder(work_tree: Path) -> bool:
    git = work_tree / ".git"
    if git.is_symlink() or not git.is_dir() or (work_tree / ".gitmodules").exists():
        return False
    if any((git / name).exists() for name in ("commondir", "config.worktree", "modules")):
        return False
    if any(git.glob("sharedindex.*")) or not _plain_file(git / "config"):
        return False
    hooks = git / "hooks"
    if hooks.exists() and any(hook.suffix != ".sample" for hook in hooks.iterdir()):
        return False
    index = git / "index"
    if not index.exists():
        return not index.is_symlink()
    return index.stat().st_size <= _MOST_INDEX and _SUBMODULE_MODE not in index.read_bytes()


def _plain_file(path: Path, *, missing_ok: bool = False) -> bool:
    if path.is_symlink() or not path.is_file():
        return missing_ok and not path.is_symlink() and not path.exists()
    if path.stat().st_size > _MOST_CONFIG:
        return False
    return settings_are_plain(path.read_bytes().decode("utf-8", "replace"))
