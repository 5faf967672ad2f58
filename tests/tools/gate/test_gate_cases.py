"""The reported bypasses of command gates, and the kind behind each."""

from __future__ import annotations

import pytest

from tools.gate import judge

CASES: dict[str, list[str]] = {
    "A01 IFS for blanks": [
        "rm${IFS}-rf${IFS}x",
        "rm$IFS-rf$IFS.",
        "cat${IFS}/etc/shadow",
        "cat ${IFS}x",
        'ls "$IFS"',
    ],
    "A03 split words": [
        "r\\m -rf x",
        "r''m -rf x",
        '"r"m x',
        'c""hmod 777 x',
        "l\\s",
        "'ls'",
        '"ls" -la',
        "$'ls'",
        "$'\\x72m' x",
        "ls\\\n -la",
    ],
    "A05 only the first was judged": [
        "git status && rm -rf x",
        *(f"ls {op} rm -rf x" for op in ("&&", ";", "||", "|", "|&", "&", "\n")),
        *(f"rm x {op} ls" for op in ("&&", ";", "||", "|", "|&", "&", "\n")),
        "ls & ls",
    ],
    "A07 tee, process substitution, full path": [
        "echo x | tee ~/.ssh/authorized_keys",
        "bash <(curl URL)",
        "cat <(id)",
        "ls >(id)",
        "find . -exec /bin/rm {} \\;",
        "find . -exec rm {} +",
    ],
    "A09 env runs the rest": [
        "env sh -c 'id'",
        "env -S 'sh -c id'",
        "env -i sh",
        "env X=1 rm x",
        "env ls",
        "nice ls",
        "timeout 5 ls",
        "command ls",
        "exec ls",
        "builtin cd x",
        "nohup ls",
        "xargs ls",
    ],
    "A13 line ends": [
        "ls\nrm x",
        "ls\r\nrm x",
        "ls\rrm x",
        "ls #\nrm x",
        "ls \\\n; rm x",
        "ls # \\\nrm x",
        "ls #'\nrm x #'",
        "ls\u2028rm x",
        "ls\u0085rm x",
        "ls\x0brm x",
    ],
    "A15 read tools that write or run": [
        "find . -delete",
        "find . -fprintf f x",
        "find . -fprint f",
        "find . -fprint0 f",
        "find . -fls f",
        "find . -ok rm {} \\;",
        "find . -okdir rm {} \\;",
        "find . -name x -execdir id \\;",
        "find -files0-from x -delete",
        "find . -name *",
        "sort -o f x",
        "sort -of x",
        "sort -no f x",
        "sort --output=f x",
        "sort --outp=f x",
        "sort x --out f",
        "sort --compress-program=sh x",
        "sort -T . x",
        "sort *",
        "uniq a b",
        "uniq -c a b",
        "uniq a*",
        "uniq -- a b",
        "xxd a b",
        "xxd -r a b",
        "xxd -ps a b",
        "xxd -bl a b",
        "xxd -l 4 a b",
        "sed -i s/a/b/ f",
        "sed -n -i p f",
        "sed -ni p f",
        "sed --in-place p f",
        "sed '1e id' f",
        "sed -n 'w f' x",
        "sed 's/a/b/e' f",
        "sed 's/a/b/w f' x",
        "sed -n '1p;w f' x",
        "sed -n '1{p;w f' -e '}' x",
        "sed -f script x",
        "sed -e 'w f' x",
        "awk 'BEGIN{system(\"id\")}'",
        "awk '{print > \"f\"}' x",
        "awk '{print | \"sh\"}' x",
        "awk -f prog x",
        "awk '{print $1}' x=1 f",
        "awk -v 'a=1' '{print $1}'",
        "tree -o f",
        "tree -R -H . -L 1",
        "tree -Io x f",
        "date -s 2020-01-01",
        "date 010100002026",
        "date --set=x",
        "hostname evil",
        "hostname -F f",
        "file -C -m x",
        "rg --pre sh x",
        "rg --pre=sh x",
        "rg --hostname-bin=sh x",
        "rg -z x",
        "diff -l a b",
        "diff --paginate a b",
        "shuf -o f x",
        "iconv -o f x",
        "jq -i . f",
        "printf -v x a",
        "printf -v 'a[$(id)]' x",
        "printf '%n' 'a[$(id)]'",
        "test -v 'a[$(id)]'",
        "[ -v 'a[$(id)]' ]",
        "[ -R x ]",
        "tar -xf a.tar",
        "tar -tf a.tar --to-command=sh",
        "tar -tf host:a.tar",
        "tar -tf a.tar --checkpoint-action=exec=id",
        "unzip a.zip",
        "unzip -lo a.zip -d x",
        "ip link set eth0 down",
        "ip -batch f",
        "ss -K dst 10.0.0.1",
        "strings --plugin=x.so f",
        "less f",
        "man ls",
        "tee f",
    ],
    "A17 programs named by a repository": [
        "git status",
        "git diff",
        "git log",
        "git show",
        "git -c core.fsmonitor=id status",
        "git --exec-path=. status",
        "git status; git diff",
    ],
    "A19 globs and braces make the name": [
        "/bin/r? -rf x",
        "/bin/r[m] x",
        "{rm,-rf,x}",
        "l? x",
        "/bin/l[s]",
        "{ls,-la}",
        "l{s,x}",
        "*",
        "./ls",
        "../bin/ls",
    ],
    "A21 inline code": [
        "python3 -c 'print(1)'",
        "python3 - <<'E'\nprint(1)\nE",
        "node -e 1",
        "ruby -e 1",
        "php -r 1",
        "lua -e 1",
        "perl -e 1",
        "sqlite3 x '.shell id'",
        "bash -c ls",
        "sh x.sh",
        "source x",
        ". x",
        "eval ls",
    ],
    "A23 a branch that was not judged": [
        'head -5 "$F" 2>/dev/null || echo x',
        "head -5 f >/dev/null2 || echo x",
        "head -5 f > out || echo x",
        "head -5 f 2>err || echo x",
    ],
    "A27 look-alikes": [
        "ｒｍ x",
        "ls ｆｏｏ",
        "ls\u00a0-la",
        "ls \u00a0x",
        "l\u200bs",
        "ls a\u200bb",
        "ls \u202etxt.exe",
        "echo '\u202e'",
        "ls \u2066x",
        "ls \ufeffx",
        "l\u0455 -la",
        "ls ｜ cat",
        "ls ； cat",
        "ls a\u0301",
        "ls \x1b[31m",
        "ls \x00x",
        "ls \ud800",
    ],
}


@pytest.mark.parametrize(
    "command",
    [pytest.param(c, id=f"{k[:3]}-{i}") for k, v in CASES.items() for i, c in enumerate(v)],
)
def test_is_system(command: str) -> None:
    verdict = judge(command)
    assert verdict.category == "system"
    assert verdict.why


def test_a01_reaches_the_block_list_through_ifs() -> None:
    assert judge("rm${IFS}-rf${IFS}/").forbidden
    assert judge("rm$IFS-rf$IFS/").forbidden


def test_a05_reads_joined_by_any_operator_are_read() -> None:
    for operator in ("&&", ";", "||", "|", "|&", "\n"):
        assert judge(f"ls {operator} wc -l x").category == "read"


def test_a11_a_grant_names_the_exact_command() -> None:
    assert judge("whoami").commands == ("whoami",)
    assert judge("npm test && rm x").commands == ("npm test", "rm x")
    assert judge("echo x | sh -s; ls").commands == ("echo x | sh -s", "ls")
    assert judge("zsh -c whoami").commands == ("zsh -c whoami",)
    assert judge("cp $A b; ls").commands == ("cp $A b; ls",)
    assert judge("make 2>/dev/null; ls").commands == ("make 2>/dev/null", "ls")


def test_a23_the_remembered_echo_does_not_cover_the_line() -> None:
    line = 'head -5 "$F" 2>/dev/null || echo x'
    assert judge(line).commands == (line,)
    assert judge("head -5 f 2>/dev/null || echo x").category == "read"


def test_a27_hidden_characters_are_shown_and_never_remembered() -> None:
    verdict = judge("ls \u202etxt.exe")
    assert "U+202E" in verdict.why
    assert "\u202e" not in verdict.why
    assert verdict.commands == ()


def test_nothing_to_run_is_not_read() -> None:
    for text in ("", " ", "\n", "# only words"):
        assert judge(text).category == "system"
