"""Harmful commands in many dresses: none of them may be called ``read``."""

from __future__ import annotations

import itertools

from tools.gate import judge

HARMFUL = [
    "rm -rf x",
    "/bin/rm x",
    "mv a b",
    "chmod 777 x",
    "dd if=a of=b",
    "touch marker",
    "bash -c id",
    "python3 -c 'print(1)'",
    "node -e 1",
    "find . -delete",
    "find . -exec id {} +",
    "sort -o f x",
    "sed -i s/a/b/ f",
    "awk 'BEGIN{system(\"id\")}'",
    "tee f",
    "git push",
    "git -c core.pager=id log",
    "curl http://x",
    "sudo ls",
    "kill 1",
]
DRESSES = [
    "{}",
    " {} ",
    "\t{}",
    "{}\n",
    "ls; {}",
    "ls && {}",
    "ls || {}",
    "ls | {}",
    "ls |& {}",
    "ls & {}",
    "ls\n{}",
    "ls # note\n{}",
    "{}; ls",
    "{} | head",
    "! {}",
    "({})",
    "{{ {}; }}",
    "echo $({})",
    "echo `{}`",
    'echo "$({})"',
    "cat <({})",
    "if true; then {}; fi",
    "for i in 1 2; do {}; done",
    "while {}; do :; done",
    "case x in x) {};; esac",
    "f() {{ {}; }}; f",
    "X=1 {}",
    "env {}",
    "env A=b {}",
    "nice -n 5 {}",
    "timeout 5 {}",
    "xargs {}",
    "time {}",
    "command {}",
    "exec {}",
    "coproc {}",
    "{} > out",
    "{} >> out",
    "{} 2> err",
    "{} < in",
    "{} <<< text",
    "{} 2>/dev/null",
    "\\{}",
    "trap '{}' EXIT",
    "alias ls='{}'; ls",
    "ls '\n' ; {}",
    "[[ -f x ]] && {}",
    "[ -f x ] && {}",
    'echo "a\\"; {}',
    "echo 'a'; {}",
    "echo a#b; {}",
    "ls -la 2>/dev/null; {}",
]
# Gadgets put into an argument of a command that reads.
GADGETS = [
    "$(id)",
    "`id`",
    '"$(id)"',
    '"`id`"',
    "<(id)",
    ">(id)",
    "$((a[$(id)]))",
    "${x:=$(id)}",
    "${x}",
    "$x",
    '"$x"',
    "$'\\x41'",
    '$"x"',
    "> f",
    ">f",
    ">> f",
    ">| f",
    "&> f",
    "2> f",
    "<> f",
    "> /dev/null/../sda",
    "> /dev/nullx",
    "< /dev/tcp/1.2.3.4/80",
    "<<E\n$(id)\nE",
    "<<<x",
    "& id",
    "; id >f",
    "\r id",
    "\u00a0x",
    "~root",
    "\\\nx",
    "(id)",
]
READERS = ["ls", "cat x", "grep a b", "head -5 x", "echo a", "find .", "stat x", "wc -l"]


def test_no_dressed_command_is_read() -> None:
    variants = [d.format(h) for d, h in itertools.product(DRESSES, HARMFUL)]
    assert len(set(variants)) >= 400
    assert [v for v in variants if judge(v).category == "read"] == []


def test_no_gadget_in_an_argument_is_read() -> None:
    variants = [f"{r} {g}" for r, g in itertools.product(READERS, GADGETS)]
    assert [v for v in variants if judge(v).category == "read"] == []


def test_every_split_of_a_name_is_system() -> None:
    tricks = ["\\", "''", '""', "$@", "${x}", "$()", "``", "\u200b", "?", "*", "{,}", "$'x'"]
    variants = [f"{w[:1]}{t}{w[1:]} x" for w, t in itertools.product(["rm", "ls", "cat"], tricks)]
    assert [v for v in variants if judge(v).category == "read"] == []


def test_an_unlisted_name_is_system_whatever_its_arguments() -> None:
    names = "rm mv cp ln dd tee touch mkdir sh bash perl ruby php make npm pip docker ssh vim nc"
    tails = ["", " --help", " --version", " -h", " x", " ."]
    variants = [name + tail for name in names.split() for tail in tails]
    assert [v for v in variants if judge(v).category == "read"] == []


def test_git_writes_and_runs_are_system_even_in_a_plain_repository() -> None:
    commands = """
    git commit -m x|git push|git pull|git fetch|git checkout x|git reset --hard|git clean -fd
    git branch new|git branch -D x|git branch -m a b|git branch -l x|git tag v1|git tag -d v1
    git stash|git stash pop|git stash drop|git remote add x y|git remote update|git remote show x
    git config user.name x|git config --unset user.name|git config edit|git config -e
    git config --global core.pager id|git reflog expire --all|git reflog delete x|git worktree add x
    git log --output=f|git diff --output f|git diff --ext-diff|git log --ext-diff -p
    git show --textconv
    git log --show-signature|git log --format=%G?|git log --format '%GK'|git grep -O x
    git grep -Oless x
    git grep --open-files-in-pager x|git -c alias.x=!id x|git --exec-path=x status|git -p log
    git --paginate log|git --git-dir=x status|git --work-tree=x status|git cat-file --textconv x
    git cat-file --filters x|git cat-file --batch|git ls-remote x|git archive HEAD|git bisect run id
    git difftool|git mergetool|git submodule foreach id|git rebase -x id|git filter-branch|git x
    git blame --contents=f x|git status > f|git help log|git|git -C|git log $x|git log --outp=f
    git upload-pack .|git fsck --lost-found|git gc|git update-index --refresh
    git rev-parse --parseopt
    """
    lines = [c.strip() for line in commands.strip().splitlines() for c in line.split("|")]
    read = [c for c in lines if judge(c, git_is_plain=lambda folder: True).category == "read"]
    assert len(lines) > 60
    assert read == []
