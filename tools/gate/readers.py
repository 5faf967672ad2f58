"""Owns the read list: which programs only read, and with which arguments.

A program is here only when its manual leaves no way to write, to run another program or to
reach the network with the arguments that its row admits. Programs that read their settings
from the environment count on the cleared environment of every terminal backend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tools.gate import scripts
from tools.gate.options import NotRead, Reads, read_arguments, word_set
from tools.gate.plain import Word

# No argument of these writes a file, runs a program or opens a connection.
_ANYTHING = word_set(
    """
ls dir vdir cat head tail wc nl tac rev tr cut paste join fold fmt expand unexpand comm cmp od
base32 base64 md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum stat du
readlink realpath basename dirname pwd echo seq factor numfmt pr tsort id groups whoami users who
w uname nproc arch printenv true false : expr tty logname grep egrep fgrep ps uptime free vmstat
lscpu lsblk which type column hexdump hd cal sleep locale
    """
)

_RG = (
    "ignore-case smart-case case-sensitive line-number no-line-number files files-with-matches "
    "files-without-match count count-matches word-regexp line-regexp fixed-strings invert-match "
    "hidden no-ignore no-ignore-vcs glob= iglob= type= type-not= after-context= before-context= "
    "context= max-count= max-depth= multiline pcre2 only-matching heading no-heading no-messages "
    "color= colors= sort= sortr= stats json vimgrep column trim text follow quiet replace= "
    "regexp= null unrestricted type-list with-filename no-filename passthru max-columns= version"
)
_JQ = (
    "raw-output compact-output slurp exit-status null-input raw-input sort-keys monochrome-output "
    "color-output join-output ascii-output tab stream seq unbuffered version"
)
_SORT = (
    "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting "
    "month-sort human-numeric-sort numeric-sort random-sort reverse sort= version-sort check? "
    "merge stable unique zero-terminated key= field-separator= buffer-size= parallel= debug"
)
_DIFF = (
    "brief report-identical-files unified? context? side-by-side recursive new-file text "
    "ignore-case ignore-all-space ignore-space-change ignore-blank-lines ignore-trailing-space "
    "color? width= suppress-common-lines exclude= minimal normal strip-trailing-cr label= "
    "no-dereference expand-tabs"
)

_ROWS: dict[str, Reads] = {
    "rg": Reads("iSsnNlcwxFvuLog:e:t:T:A:B:C:m:d:UPqapIHr:j:M:0V", _RG),
    "uniq": Reads("cdDuizf:s:w:", "count repeated unique ignore-case zero-terminated", operands=1),
    "sort": Reads("bdfgiMhnRrVcCmsuzk:t:S:", _SORT),
    "diff": Reads("qsuyrNaiwbBEZdtTcU:C:W:x:X:L:p", _DIFF),
    "df": Reads("ahHiklPTt:x:", "all human-readable si inodes local total type= output?"),
    "file": Reads("biLhkNnrs0F:", "mime mime-type mime-encoding brief extension dereference"),
    "date": Reads(
        "uRI?d:r:",
        "date= utc universal iso-8601? rfc-3339= rfc-email reference=",
        operands=1,
        check=scripts.date,
    ),
    "hostname": Reads("fisIdA", "fqdn short ip-address all-ip-addresses", operands=0),
    "cd": Reads("LP", operands=1),
    "env": Reads(operands=0),
    "jq": Reads("rcsenRSMCjaf:L:", _JQ),
    "tree": Reads(
        "adfilspughDFCnxJrtUcvqNQL:I:P:",
        "noreport dirsfirst gitignore prune du si inodes device charset= sort= filelimit=",
        attached=False,
    ),
    "strings": Reads("an:t:e:f", "all bytes= radix="),
    # xxd's second operand is a file to write.
    "xxd": Reads("abeEpug:c:l:s:", operands=1, bundled=False),
    "shuf": Reads("n:zri:e", "head-count= zero-terminated repeat input-range= echo"),
    "pgrep": Reads("aflxnocivu:U:P:t:g:", "full list-name list-full exact newest oldest count"),
    "iconv": Reads("f:t:cl", "from-code= to-code= list"),
    "zcat": Reads(),
    "ss": Reads("tulnpae46swxmio", "tcp udp listening numeric processes all summary"),
    "netstat": Reads("tulnpares46"),
    "unzip": Reads("lvqZ1", check=scripts.listing),
}

_CHECKS: dict[str, Callable[[Sequence[Word]], None]] = {
    "find": scripts.find,
    "sed": scripts.sed,
    "awk": scripts.awk,
    "printf": scripts.printf,
    "test": scripts.test,
    "[": scripts.test,
    "command": scripts.command,
    "tar": scripts.tar,
    "ip": scripts.ip,
}
_PROGRAM_FOLDERS = ("/bin/", "/usr/bin/")


def program_name(word: Word) -> str:
    """The plain name of a command word, without /bin/ or /usr/bin/; raises ``NotRead``."""
    if word.raw != word.text or (word.is_pattern and word.raw != "["):
        raise NotRead(f"the command's name is written as {word.raw}")
    for folder in _PROGRAM_FOLDERS:
        if word.text.startswith(folder):
            return word.text[len(folder) :]
    return word.text


def require_read(words: Sequence[Word]) -> None:
    """Raise ``NotRead`` unless this simple command, not git, is known to only read."""
    name = program_name(words[0])
    if name in _CHECKS:
        _CHECKS[name](words[1:])
    elif name in _ROWS:
        spec = _ROWS[name]
        given = read_arguments(spec, words[1:])
        if spec.check:
            spec.check(given)
    elif name not in _ANYTHING:
        raise NotRead(f"{name} is not on the list of commands that only read")
