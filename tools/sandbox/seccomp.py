"""The system-call filter of the box, assembled as classic BPF for x86-64 and arm64.

Numbers are the kernel's (``asm/unistd_64.h`` and ``asm-generic/unistd.h``). The filter is a
deny list on top of namespaces, dropped capabilities and no_new_privs: it takes away what
reaches the kernel's widest surfaces (namespaces, mounts, tracing, io_uring, BPF, keys) and
every kind of socket but IPv4 and IPv6, which in the box lead nowhere.
"""

from __future__ import annotations

import errno
import platform
import struct
from dataclasses import dataclass

# name: (x86-64, arm64); None where the architecture has no such call.
_DENIED: dict[str, tuple[int | None, int | None]] = {
    "_sysctl": (156, None),
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}


@dataclass(frozen=True)
class Arch:
    """The audit number of an architecture and the calls whose arguments are looked at."""

    audit: int
    column: int
    clone: int
    socket: int
    socketpair: int
    ioctl: int


ARCHES = {
    "x86_64": Arch(0xC000003E, 0, clone=56, socket=41, socketpair=53, ioctl=16),
    "aarch64": Arch(0xC00000B7, 1, clone=220, socket=198, socketpair=199, ioctl=29),
}
_CLONE3 = 435  # on both
_X32_BIT = 0x40000000
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_NEW_NAMESPACES = 0x00020000 | 0x7E000000
_AF_INET, _AF_INET6, _SOCK_DGRAM = 2, 10, 2
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NR, _ARCH = 0, 4


def _step(code: int, value: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, jump_true, jump_false, value)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)


def _argument(index: int) -> bytes:
    """Load the low 32 bits of an argument; the kernel reads no more of those used here."""
    return _step(_LOAD, 16 + 8 * index)


def _when_call(number: int, body: bytes) -> bytes:
    """``body`` (it must return) for one system call; the accumulator holds the number."""
    return _step(_EQUAL, number, 0, len(body) // 8) + body


def denied_calls(machine: str) -> dict[str, int]:
    """The calls that the filter refuses whatever their arguments: name to number."""
    column = ARCHES[machine].column
    return {name: nr for name, both in _DENIED.items() if (nr := both[column]) is not None}


def program(machine: str | None = None) -> bytes:
    """The filter for ``bwrap --seccomp``. Raises ``KeyError`` on an unknown architecture."""
    machine = machine or platform.machine()
    arch = ARCHES[machine]
    allow = _step(_RETURN, _ALLOW)
    out = _step(_LOAD, _ARCH) + _step(_EQUAL, arch.audit, 1, 0) + _step(_RETURN, _KILL)
    out += _step(_LOAD, _NR)
    if machine == "x86_64":
        out += _step(_GREATER_EQUAL, _X32_BIT, 0, 1) + _refuse(errno.ENOSYS)
    # ENOSYS makes the C library fall back to clone, whose flags a filter can read.
    out += _when_call(_CLONE3, _refuse(errno.ENOSYS))
    for number in sorted(denied_calls(machine).values()):
        out += _when_call(number, _refuse(errno.EPERM))
    out += _when_call(
        arch.clone,
        _argument(0) + _step(_ANY_BIT, _NEW_NAMESPACES, 0, 1) + _refuse(errno.EPERM) + allow,
    )
    out += _when_call(
        arch.socket,
        _argument(0)
        + _step(_EQUAL, _AF_INET, 2, 0)
        + _step(_EQUAL, _AF_INET6, 1, 0)
        + _refuse(errno.EAFNOSUPPORT)
        + allow,
    )
    # A connected pair leads nowhere; a datagram pair could be pointed at another socket.
    out += _when_call(
        arch.socketpair,
        _argument(1)
        + _step(_AND, 0xF)
        + _step(_EQUAL, _SOCK_DGRAM, 0, 1)
        + _refuse(errno.EPERM)
        + allow,
    )
    # CVE-2017-5226: pushing characters into the terminal of the parent.
    out += _when_call(
        arch.ioctl,
        _argument(1)
        + _step(_EQUAL, _TIOCSTI, 1, 0)
        + _step(_EQUAL, _TIOCLINUX, 0, 1)
        + _refuse(errno.EPERM)
        + allow,
    )
    return out + allow
