"""One user's files: every read and write of the portal in a workspace goes through here.

Paths are relative to the workspace, or begin with ``/workspace`` as the sandbox shows them.
Errors are ``ModelRecoverable``: whatever leads outside, by name or by link, gets one answer.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from hermes_site.lib.errors import ModelRecoverable
from tools import beneath
from tools.beneath import MOUNT
from tools.quota import QUOTA, usage
from tools.sandbox import identity

MAX_FILE = 10 * 1024 * 1024
_MAX_NAME, _MAX_PATH = 255, 4096
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


@dataclass(frozen=True)
class Entry:
    """A thing in the workspace: ``kind`` is file, folder, link or other; ``size`` in bytes;
    ``modified`` in seconds since 1970."""

    path: str
    kind: str
    size: int
    modified: float


def workspace_for(home: Path, user_id: UUID) -> Path:
    """The folder of a user's files below ``home``, made on first use, closed to others."""
    root = home / "workspaces" / str(user_id)
    if not root.is_dir():
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        uid = identity.host_uid(root)
        if uid is not None:
            os.chown(root, uid, uid)
    return root


class Workspace:
    """The files below ``root`` (which may itself be reached by a link)."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, path: str, limit: int = MAX_FILE) -> bytes:
        """The content of a file of at most ``limit`` bytes."""
        with self._at(path) as (root, parts):
            # Non-blocking, so that opening a FIFO does not wait for its other end.
            fd = beneath.open_beneath(root, parts, os.O_RDONLY | os.O_NONBLOCK)
            try:
                status = os.fstat(fd)
                _require_file(path, status)
                if status.st_size > limit:
                    raise _too_large(path, status.st_size, limit)
                with open(fd, "rb", closefd=False) as file:
                    return file.read(limit)
            finally:
                os.close(fd)

    def write(self, path: str, data: bytes) -> int:
        """Put ``data`` into a file, all or nothing, making the folders above; returns bytes."""
        if len(data) > MAX_FILE:
            raise _too_large(path, len(data), MAX_FILE)
        if any(ord(char) < 32 or ord(char) == 127 for char in path):
            raise ModelRecoverable(f"{path!r}: a new name cannot hold control characters.")
        if usage(self.root) + len(data) > QUOTA:
            raise ModelRecoverable(f"The workspace is full ({QUOTA >> 20} MiB); delete some files.")
        with self._at(path) as (root, parts):
            owner = _owner(root)
            folder, name = beneath.parent(root, parts, create=True, owner=owner)
            try:
                _replace(path, folder, name, data, owner)
            finally:
                os.close(folder)
        return len(data)

    def stat(self, path: str) -> Entry:
        """What ``path`` is, after links."""
        with self._at(path) as (root, parts):
            fd = beneath.open_beneath(root, parts, os.O_PATH)
            try:
                return _entry("/".join(parts) or ".", os.fstat(fd))
            finally:
                os.close(fd)

    def list(self, path: str = ".") -> list[Entry]:
        """What a folder holds, by name."""
        return list(self.walk(path, depth=1))

    def walk(
        self, path: str = ".", *, depth: int = 20, skip: frozenset[str] = frozenset()
    ) -> Iterator[Entry]:
        """Everything below a folder, ``depth`` levels deep, not following links; folders named
        in ``skip`` are listed and not entered."""
        with self._at(path) as (root, parts):
            folder = beneath.open_beneath(root, parts, os.O_RDONLY | os.O_DIRECTORY)
        prefix = "".join(f"{part}/" for part in parts)
        try:
            for found in beneath.walk(folder, depth=depth, skip=skip):
                yield _entry(_shown(prefix + found.path), found.status)
        finally:
            os.close(folder)

    def mkdirs(self, path: str) -> None:
        """Make a folder and those above it; one that exists is fine."""
        with self._at(path) as (root, parts):
            # The parent of anything below it.
            below = (*parts, "x")
            fd, _ = beneath.parent(root, below, follow=False, create=True, owner=_owner(root))
            os.close(fd)

    def delete(self, path: str, *, recursive: bool = False) -> int:
        """Delete a file, a link itself, or a folder (with what is in it when ``recursive``);
        returns how many things went."""
        with self._parent(path) as (folder, name):
            if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=folder)
                return 1
            count = _empty(folder, name) if recursive else 0
            os.rmdir(name, dir_fd=folder)
            return count + 1

    def move(self, source: str, target: str) -> None:
        """Rename a file, link or folder; the target must not exist."""
        with self._parent(source) as (old, name), self._at(target) as (root, parts):
            os.stat(name, dir_fd=old, follow_symlinks=False)
            new, new_name = beneath.parent(
                root, parts, follow=False, create=True, owner=_owner(root)
            )
            try:
                if _exists(new, new_name):
                    raise ModelRecoverable(f"{target!r} exists already; delete it first.")
                os.rename(name, new_name, src_dir_fd=old, dst_dir_fd=new)
            finally:
                os.close(new)

    def open(self, path: str) -> int:
        """A readable descriptor of a file or folder; the caller closes it."""
        with self._at(path) as (root, parts):
            fd = beneath.open_beneath(root, parts, os.O_RDONLY | os.O_NONBLOCK)
            if stat.S_IFMT(os.fstat(fd).st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
                os.close(fd)
                raise ModelRecoverable(f"{path!r} is not a regular file.")
            return fd

    def open_path(self, path: str, *, links: bool = True) -> int:
        """An ``O_PATH`` descriptor of ``path``; the caller closes it."""
        with self._at(path) as (root, parts):
            return beneath.open_beneath(root, parts, os.O_PATH, links=links)

    @contextlib.contextmanager
    def _at(self, path: str) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The open root and the parts of ``path``; errors inside are told in the model's words."""
        parts = parts_of(path)
        root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield root, parts
        except OSError as error:
            raise _told(path, error) from error
        finally:
            os.close(root)

    @contextlib.contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        with self._at(path) as (root, parts):
            if not parts:
                raise ModelRecoverable("The workspace itself cannot be moved or deleted.")
            folder, name = beneath.parent(root, parts, follow=False)
            try:
                yield folder, name
            finally:
                os.close(folder)


def parts_of(path: str) -> tuple[str, ...]:
    """The components of ``path`` below the workspace. Raises ``ModelRecoverable``."""
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:
        raise ModelRecoverable(f"{path!r} is not valid text.") from None
    if b"\0" in raw:
        raise ModelRecoverable(f"{path!r} holds a NUL character.")
    below = path
    if path.startswith("/"):
        if path != MOUNT and not path.startswith(MOUNT + "/"):
            raise _outside(path)
        below = path[len(MOUNT) :]
    parts = tuple(part for part in below.split("/") if part not in ("", "."))
    if ".." in parts:
        raise _outside(path)
    if len(raw) > _MAX_PATH or any(len(os.fsencode(part)) > _MAX_NAME for part in parts):
        raise ModelRecoverable(
            f"The path is too long: at most {_MAX_NAME} bytes a name, {_MAX_PATH} in all."
        )
    return parts


def _outside(path: str) -> ModelRecoverable:
    return ModelRecoverable(
        f"{path!r} is not inside the workspace. Use a path below {MOUNT}, without '..' or links "
        "that lead out."
    )


def _told(path: str, error: OSError) -> ModelRecoverable:
    texts = {
        errno.ENOENT: "does not exist",
        errno.ENOTDIR: "is not a folder, or a part of it is not",
        errno.EISDIR: "is a folder",
        errno.ENOTEMPTY: "is a folder that is not empty; say recursive to delete all of it",
        errno.EEXIST: "exists already",
        errno.ELOOP: "goes through too many links",
        errno.ENAMETOOLONG: "is too long",
        errno.EACCES: "may not be opened",
        errno.EPERM: "may not be changed",
        errno.ENXIO: "is not a regular file",
        errno.ENODEV: "is not a regular file",
        errno.EINVAL: "cannot be used so (a folder into itself?)",
        errno.ENOSPC: "cannot be written: the disk is full",
        errno.EDQUOT: "cannot be written: the disk quota is reached",
    }
    if error.errno == errno.EXDEV:
        return _outside(path)
    return ModelRecoverable(f"{path!r} {texts.get(error.errno or 0, str(error.strerror).lower())}.")


def _require_file(path: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ModelRecoverable(f"{path!r} is a folder.")
    if not stat.S_ISREG(status.st_mode):
        raise ModelRecoverable(f"{path!r} is not a regular file.")


def _too_large(path: str, size: int, limit: int) -> ModelRecoverable:
    return ModelRecoverable(f"{path!r} has {size} bytes; at most {limit} are allowed.")


def _entry(path: str, status: os.stat_result) -> Entry:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
    return Entry(path, kind, status.st_size, status.st_mtime)


def _shown(path: str) -> str:
    """A name that is not UTF-8 on disk, in a form that can be stored and sent."""
    return os.fsencode(path).decode("utf-8", "replace")


def _owner(root: int) -> int | None:
    """Whom new files belong to: the workspace's owner, when the portal is root."""
    return os.fstat(root).st_uid if os.geteuid() == 0 else None


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _replace(path: str, folder: int, name: str, data: bytes, owner: int | None) -> None:
    mode = 0o644
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        _require_file(path, status)
        mode = status.st_mode & 0o777
    temporary = f".{uuid4().hex}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            if owner is not None:
                os.fchown(fd, owner, owner)
            os.fchmod(fd, mode)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _empty(folder: int, name: str) -> int:
    """Delete everything in a folder, deepest first."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, dir_fd=folder)
    count, deferred = 0, list[tuple[str, int]]()
    try:
        for found in beneath.walk(fd):
            count += 1
            if found.is_folder:
                deferred.append((found.path, found.depth))
            else:
                os.unlink(found.name, dir_fd=found.folder)
        for path, _ in sorted(deferred, key=lambda item: -item[1]):
            inner, leaf = beneath.parent(fd, tuple(path.split("/")), follow=False, links=False)
            try:
                os.rmdir(leaf, dir_fd=inner)
            finally:
                os.close(inner)
    finally:
        os.close(fd)
    return count
