"""Owns the small languages inside arguments: find's expressions, sed and awk one-liners, printf
formats, tests, tar's bundled letters. Each check raises ``NotRead`` for what it cannot prove."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.gate.options import Arguments, NotRead, Reads, read_arguments, word_set
from tools.gate.plain import Word

_FIND_ALONE = word_set(
    """
-print -print0 -ls -prune -quit -depth -d -mount -xdev -empty -daystart -follow -nouser -nogroup
-readable -writable -executable -true -false -not -a -and -o -or ! ( ) , -noleaf -nowarn -warn
-ignore_readdir_race -noignore_readdir_race -H -L -P -O1 -O2 -O3
    """
)
_FIND_VALUE = word_set(
    """
-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size
-mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -maxdepth -mindepth -perm -user
-group -uid -gid -links -inum -samefile -fstype -regextype -used -printf
    """
)
_FIND_NEWER = re.compile(r"-newer[aBcm][aBcmt]")
_PLAIN_RE = r"[A-Za-z0-9_ #.,:=<>\"^$*+-]*"
_ADDRESS = rf"(?:\d+|\$|/{_PLAIN_RE}/)"
_SED_STEP = re.compile(
    rf"(?:{_ADDRESS}(?:,\+?{_ADDRESS})?)?[pdq]|s/{_PLAIN_RE}/[A-Za-z0-9_ .,:=-]*/[gpIi0-9]*"
)
_SED = Reads("nErs", "quiet silent regexp-extended")
_FIELDS = r"\$(?:\d+|NF)"
_AWK_PROGRAM = re.compile(
    rf"(?:/[A-Za-z0-9_ .:-]*/|NR *(?:==|>|<|>=|<=) *\d+)? *"
    rf"\{{ *print(?: +{_FIELDS}(?:(?: *, *| +)?{_FIELDS})*)? *(?:; *)?\}}|NR *(?:==|>|<|>=|<=) *\d+"
)
_AWK = Reads("F:")
_PRINTF_STORES = re.compile(r"%[-+ #0-9.*'hlLjzt$]*n")
_TAR_LETTERS = re.compile(r"-?[tvzjJ]*f")
_IP_VIEWS = {
    (view, *verb)
    for view in ("a", "addr", "address", "r", "route", "l", "link", "n", "neigh", "rule")
    for verb in ((), ("show",), ("list",))
}


def find(words: Sequence[Word]) -> None:
    """Every word of find must be a starting point or an expression that looks and prints."""
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        _refuse_action_pattern(word)
        if word.text in _FIND_VALUE or _FIND_NEWER.fullmatch(word.text):
            if index < len(words):
                _refuse_action_pattern(words[index])
            index += 1
        elif word.text.startswith("-") and word.text not in _FIND_ALONE:
            raise NotRead(f"{word.text} is not one of its expressions that only read")


def _refuse_action_pattern(word: Word) -> None:
    """A pattern can match several files, and one of them can be named ``-delete``."""
    if word.is_pattern and (not word.prefix or word.prefix[0] in "-(!,)"):
        raise NotRead(f"the unquoted pattern {word.raw} may stand for an action")


def sed(words: Sequence[Word]) -> None:
    """Only line printing, deletion from the output and plain substitution, and no -i."""
    given = read_arguments(_SED, words)
    if not given.operands or given.operands[0].is_pattern:
        raise NotRead("it has no script that can be read")
    for step in re.split(r"[;\n]", given.operands[0].text):
        if not _SED_STEP.fullmatch(step.strip(" ")):
            raise NotRead(f"the script step {step!r} is more than printing lines")


def awk(words: Sequence[Word]) -> None:
    """Only the printing of whole fields of chosen lines."""
    given = read_arguments(_AWK, words)
    if not given.operands or not _AWK_PROGRAM.fullmatch(given.operands[0].text.strip(" ")):
        raise NotRead("the program is more than printing fields")
    for word in given.operands[1:]:
        # name=value sets a variable; gawk opens a socket for /inet/…
        if "=" in word.text or "/inet" in word.text:
            raise NotRead(f"{word.text} is more than a file to read")


def printf(words: Sequence[Word]) -> None:
    """-v and %n assign variables, and may run code in a subscript."""
    if not words or words[0].is_pattern:
        raise NotRead("it has no literal format")
    if words[0].text.startswith("-") or _PRINTF_STORES.search(words[0].text):
        raise NotRead("it may assign a variable")


def test(words: Sequence[Word]) -> None:
    """-v and -R evaluate a variable's name, and with it code in a subscript."""
    for word in words:
        if word.text in ("-v", "-R") or (word.is_pattern and word.raw != "]"):
            raise NotRead(f"{word.raw} may evaluate more than it shows")


def command(words: Sequence[Word]) -> None:
    """``command -v name`` looks a program up; anything else runs one."""
    if not words or words[0].text not in ("-v", "-V"):
        raise NotRead("it runs another command")


def tar(words: Sequence[Word]) -> None:
    """Only a listing of a local archive."""
    texts = [word.text for word in words]
    if len(texts) < 2 or not _TAR_LETTERS.fullmatch(texts[0]) or "t" not in texts[0]:
        raise NotRead("it does more than list an archive")
    if ":" in texts[1] or any(text.startswith("-") for text in texts[1:]):
        raise NotRead("it reaches another machine or takes further options")
    if any(word.is_pattern for word in words):
        raise NotRead("a pattern may stand for an option")


def ip(words: Sequence[Word]) -> None:
    """Only the plain views of addresses, routes, links and neighbours."""
    texts = tuple(word.text for word in words)
    while texts[:1] and texts[0] in ("-4", "-6", "-br", "-brief", "-s", "-c", "-color", "-o"):
        texts = texts[1:]
    if texts not in _IP_VIEWS:
        raise NotRead("it is not one of its plain views")


def date(given: Arguments) -> None:
    """An operand without + sets the clock."""
    if given.operands and not given.operands[0].text.startswith("+"):
        raise NotRead("it sets the clock")


def listing(given: Arguments) -> None:
    """unzip extracts unless it is told to list."""
    if not {"-l", "-v", "-Z"} & set(given.options):
        raise NotRead("it extracts files")
