"""Opening paths below a folder, by descriptors only, whatever is swapped for a link meanwhile.

``openat2`` with ``RESOLVE_BENEATH`` does it in the kernel; where that is missing, and for
absolute links that begin with the sandbox's name of the workspace, a walk component by
component does it here: every step is opened relative to a descriptor and without following.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

# The name of a workspace's root inside the sandbox.
MOUNT = "/workspace"
MAX_LINKS = 40
MAX_DEPTH = 100

_OPENAT2 = 437  # on x86-64 and arm64 alike
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Outside(OSError):
    """A link or path leads out of the folder."""

    def __init__(self) -> None:
        super().__init__(errno.EXDEV, "leads outside")


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def openat2(root: int, path: bytes, flags: int, *, links: bool = True) -> int:
    """The kernel's own resolution. Raises ``OSError``; ``ENOSYS`` where it has none."""
    resolve = _BENEATH | _NO_MAGICLINKS | (0 if links else _NO_SYMLINKS)
    how = _OpenHow(flags | os.O_CLOEXEC, 0, resolve)
    for _ in range(8):
        arguments = (_OPENAT2, root, ctypes.c_char_p(path), ctypes.byref(how), ctypes.sizeof(how))
        fd = int(_libc().syscall(*arguments))
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):  # EAGAIN: a rename at the same moment
            break
    raise OSError(number, os.strerror(number))


def open_beneath(root: int, parts: tuple[str, ...], flags: int, *, links: bool = True) -> int:
    """Open an existing file or folder. Raises ``Outside`` or another ``OSError``."""
    try:
        return openat2(root, os.fsencode("/".join(parts) or "."), flags, links=links)
    except OSError as error:
        # EPERM: a container's filter that does not know the call.
        if error.errno not in (errno.ENOSYS, errno.EPERM, errno.EXDEV):
            raise
    return open_by_walk(root, parts, flags, links=links)


def open_by_walk(root: int, parts: tuple[str, ...], flags: int, *, links: bool = True) -> int:
    """The same without ``openat2``."""
    folder, name = parent(root, parts, follow=links, links=links)
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)


def parent(
    root: int,
    parts: tuple[str, ...],
    *,
    follow: bool = True,
    links: bool = True,
    create: bool = False,
    owner: int | None = None,
) -> tuple[int, str]:
    """The folder that really holds the last part, as a descriptor, and the part's name there.

    ``follow`` resolves a link in the last place too; ``create`` makes missing folders and
    gives them to ``owner``. The name is ``.`` for the root itself.
    """
    stack = [os.dup(root)]
    todo, followed = deque(parts), 0
    try:
        while todo:
            name = todo.popleft()
            if name in ("", "."):
                continue
            if name == "..":  # only from the target of a link
                if len(stack) == 1:
                    raise Outside
                os.close(stack.pop())
                continue
            if (not todo and not follow) or not _is_link(stack[-1], name):
                if not todo:
                    return stack.pop(), name
                stack.append(_enter(stack[-1], name, create, owner))
                continue
            followed += 1
            if followed > MAX_LINKS or not links:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            target = os.readlink(name, dir_fd=stack[-1])
            if target.startswith("/"):
                target = _below_mount(target)
                while len(stack) > 1:
                    os.close(stack.pop())
            todo.extendleft(reversed(target.split("/")))
        return stack.pop(), "."
    finally:
        for fd in stack:
            os.close(fd)


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _enter(folder: int, name: str, create: bool, owner: int | None) -> int:
    try:
        return os.open(name, _STEP, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(name, 0o755, dir_fd=folder)
    except FileExistsError:
        return os.open(name, _STEP, dir_fd=folder)
    if owner is not None:
        os.chown(name, owner, owner, dir_fd=folder, follow_symlinks=False)
    return os.open(name, _STEP, dir_fd=folder)


def _below_mount(target: str) -> str:
    if target == MOUNT or target.startswith(MOUNT + "/"):
        return target[len(MOUNT) :]
    raise Outside


@dataclass(frozen=True)
class Found:
    """One thing met on a walk; ``folder`` is open while it is being looked at."""

    path: str
    name: str
    folder: int
    status: os.stat_result
    depth: int

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


def walk(
    root: int, *, depth: int = MAX_DEPTH, skip: frozenset[str] = frozenset()
) -> Iterator[Found]:
    """Everything below ``root`` in order of name, ``depth`` levels deep, following no links
    and not entering folders named in ``skip``. What cannot be read is passed over."""
    stack = [_listing(root, "")]
    try:
        while stack:
            folder, prefix, names = stack[-1]
            if not names:
                os.close(stack.pop()[0])
                continue
            name = names.pop()
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError:
                continue  # it went away
            found = Found(prefix + name, name, folder, status, len(stack))
            yield found
            if found.is_folder and len(stack) < depth and name not in skip:
                try:
                    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                    below = os.open(name, flags, dir_fd=folder)
                except OSError:
                    continue
                try:
                    stack.append(_listing(below, found.path + "/"))
                finally:
                    os.close(below)
    finally:
        for folder, _, _ in stack:
            os.close(folder)


def _listing(folder: int, prefix: str) -> tuple[int, str, list[str]]:
    """Its own descriptor of ``folder``, and the names in it, last first."""
    own = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return own, prefix, sorted(os.listdir(own), reverse=True)
    except OSError:
        return own, prefix, []
