"""Owns the judgement of git: which of its commands only look, and in which repositories.

git runs programs that a repository's own configuration names (``core.fsmonitor``,
``filter.*.clean``, ``diff.external``, ``gpg.program``, a pager, a promisor remote), so no git
command that opens a repository is read by its text alone. The caller brings the missing fact
as ``GitCheck``: it is asked about each folder in which git would look, and says whether the
configuration found there is plain (see ``tools.gate.repository``). Without it git is
``system``. Network commands, and options that run or write, are ``system`` always.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tools.gate.options import Arguments, NotRead, Reads, read_arguments
from tools.gate.plain import Word

GitCheck = Callable[[str], bool]

_DIFF = (
    "stat? shortstat numstat name-only name-status summary patch no-patch cached staged unified= "
    "word-diff? color? no-color minimal histogram patience diff-filter= find-renames? raw check "
    "ignore-all-space ignore-space-change ignore-blank-lines exit-code quiet relative? "
    "no-ext-diff no-textconv no-renames compact-summary diff-algorithm= merge-base"
)
_LOG = _DIFF + (
    " oneline graph all decorate? no-decorate since= after= until= before= author= committer= "
    "grep= format= pretty? abbrev-commit abbrev= no-merges merges max-count= skip= follow reverse "
    "date= branches? tags? remotes? first-parent full-history topo-order date-order invert-grep "
    "extended-regexp fixed-strings regexp-ignore-case left-right cherry-pick"
)


def _no_signatures(given: Arguments) -> None:
    """Signature placeholders run gpg."""
    if "%G" in "".join(given.values):
        raise NotRead("the format checks signatures with another program")


def _one_name(given: Arguments) -> None:
    """``git config name`` reads; with a second operand it writes."""
    asks = {"--get", "--get-all", "--list", "-l"} & set(given.options)
    names = [word.text for word in given.operands]
    if len(names) > 1 or (not names and not asks):
        raise NotRead("it changes the configuration")
    # Newer releases take verbs here, and one of them opens an editor.
    if names and "." not in names[0] and names[0] != "list":
        raise NotRead(f"{names[0]} is not the name of a setting")


def _tag_list(given: Arguments) -> None:
    if given.operands and not {"-l", "--list"} & set(given.options):
        raise NotRead("it makes or moves a tag")


def _branch_list(given: Arguments) -> None:
    if given.operands and "--list" not in given.options:
        raise NotRead("it makes or moves a branch")


def _remote_view(given: Arguments) -> None:
    words = [word.text for word in given.operands]
    if words and (words[0] != "get-url" or len(words) != 2):
        raise NotRead("it changes remotes or uses the network")


def _only(*verbs: str) -> Callable[[Arguments], None]:
    def check(given: Arguments) -> None:
        if not given.operands or given.operands[0].text not in verbs:
            raise NotRead(f"only {' and '.join(verbs)} of it read")

    return check


def _no_operands(given: Arguments) -> None:
    if given.operands:
        raise NotRead("it may change what it names")


_ROWS: dict[str, Reads] = {
    "status": Reads(
        "sbzvu?",
        "short branch porcelain? long show-stash untracked-files? ignored? verbose "
        "ignore-submodules? no-renames ahead-behind no-ahead-behind column?",
    ),
    "diff": Reads("pswbuRzU:M?C?S:G:", _DIFF),
    "log": Reads("pswbuRzin:U:M?S:G:L:EF", _LOG, digits=True, check=_no_signatures),
    "show": Reads("pswbuRzn:U:M?", _LOG, digits=True, check=_no_signatures),
    "branch": Reads("arv", "all remotes verbose list show-current no-color", check=_branch_list),
    "remote": Reads("v", "verbose", check=_remote_view),
    "tag": Reads("ln?", "list sort= no-column", check=_tag_list),
    "stash": Reads(check=_only("list")),
    "worktree": Reads(long="porcelain", check=_only("list")),
    "reflog": Reads("n:", "oneline", digits=True, check=_no_operands),
    "rev-parse": Reads(
        "q",
        "abbrev-ref? short? show-toplevel is-inside-work-tree git-dir show-prefix show-cdup "
        "verify symbolic-full-name is-bare-repository absolute-git-dir quiet git-common-dir",
    ),
    "rev-list": Reads("n:", "count all max-count= no-merges since= until= first-parent"),
    "ls-files": Reads(
        "cdmostzi", "cached deleted modified others stage exclude-standard ignored error-unmatch"
    ),
    "ls-tree": Reads("rdtlz", "name-only long full-tree full-name"),
    "blame": Reads("L:welsnfM?C?", "porcelain date= show-email since="),
    "describe": Reads(long="tags always dirty? all long abbrev= exact-match match= contains"),
    "shortlog": Reads("snec", "summary numbered email since= until= no-merges"),
    "cat-file": Reads("ptes"),
    "config": Reads("lz", "get get-all list global local show-origin name-only", check=_one_name),
    "grep": Reads(
        "nilLcwEFPvhHIqe:A:B:C:",
        "line-number ignore-case files-with-matches name-only count word-regexp extended-regexp "
        "fixed-strings perl-regexp heading break cached untracked show-function color? no-color",
    ),
    "merge-base": Reads("a", "all is-ancestor"),
    "show-ref": Reads("ds", "heads tags hash? verify"),
    "count-objects": Reads("vH", "verbose human-readable"),
}
_FOLDER = re.compile(r"[A-Za-z0-9_./~+@%=,-]*")


def require_read(words: Sequence[Word], folders: Sequence[str], check: GitCheck | None) -> None:
    """Raise ``NotRead`` unless this git command only looks.

    ``folders`` are the folders, as written and relative to where the line starts, in which it
    may run.
    """
    rest = list(words[1:])
    if [word.text for word in rest] in (["--version"], ["version"]):
        return
    inner = ""
    while rest and rest[0].text.startswith("-"):
        if rest[0].text in ("--no-pager", "-P"):
            rest = rest[1:]
        elif rest[0].text == "-C" and len(rest) > 1 and not rest[1].is_pattern and not inner:
            inner, rest = rest[1].text, rest[2:]
        else:
            raise NotRead(f"git's {rest[0].text} may run another program")
    if not rest or rest[0].raw not in _ROWS:
        raise NotRead(f"git {rest[0].text if rest else ''} is not known to only read".strip())
    spec = _ROWS[rest[0].raw]
    given = read_arguments(spec, rest[1:])
    if spec.check:
        spec.check(given)
    if check is None:
        raise NotRead("git runs the programs that a repository's settings name")
    for folder in folders:
        place = inner if inner.startswith(("/", "~")) else "/".join(filter(None, (folder, inner)))
        if not _FOLDER.fullmatch(place) or not check(place):
            raise NotRead("the repository's settings may name programs that git would run")
