"""The filter as the kernel would run it, on both architectures."""

from __future__ import annotations

import errno
import struct

import pytest

from tools.sandbox import seccomp

ALLOW = 0x7FFF0000
KILL = 0x80000000
NEW_FLAGS = {
    "mnt": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}


def run(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """Interpret the program on one system call; returns the verdict."""
    words = list(arguments) + [0] * (6 - len(arguments))
    call = struct.pack("<IIQ6Q", number, audit or seccomp.ARCHES[machine].audit, 0, *words)
    code = seccomp.program(machine)
    steps = [struct.unpack_from("<HBBI", code, at) for at in range(0, len(code), 8)]
    at = accumulator = 0
    while True:
        op, yes, no, value = steps[at]
        at += 1
        if op == 0x20:
            (accumulator,) = struct.unpack_from("<I", call, value)
        elif op == 0x54:
            accumulator &= value
        elif op == 0x06:
            return value
        else:
            truth = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[op]
            at += yes if truth else no


def refused(number: int) -> int:
    return 0x00050000 | number


@pytest.mark.parametrize("machine", seccomp.ARCHES)
def test_every_denied_call_is_refused_and_its_neighbours_are_not(machine: str) -> None:
    arch = seccomp.ARCHES[machine]
    denied = set(seccomp.denied_calls(machine).values())
    special = {435, arch.clone, arch.socket, arch.socketpair, arch.ioctl}
    for number in range(470):
        if number in denied:
            assert run(machine, number) == refused(errno.EPERM), number
        elif number not in special:
            assert run(machine, number) == ALLOW, number
    assert len(denied) > 50


@pytest.mark.parametrize("machine", seccomp.ARCHES)
def test_clone_makes_threads_and_processes_but_no_namespaces(machine: str) -> None:
    clone = seccomp.ARCHES[machine].clone
    assert run(machine, clone, 0x3D0F00) == ALLOW  # pthread_create
    assert run(machine, clone, 0x01200011) == ALLOW  # fork
    for flag in NEW_FLAGS.values():
        assert run(machine, clone, flag | 0x11) == refused(errno.EPERM)
    assert run(machine, 435) == refused(errno.ENOSYS)


@pytest.mark.parametrize("machine", seccomp.ARCHES)
def test_only_internet_sockets_and_connected_pairs(machine: str) -> None:
    arch = seccomp.ARCHES[machine]
    for family in range(50):
        expected = ALLOW if family in (2, 10) else refused(errno.EAFNOSUPPORT)
        assert run(machine, arch.socket, family, 1, 0) == expected, family
    close_on_exec = 0o2000000
    assert run(machine, arch.socketpair, 1, 1 | close_on_exec) == ALLOW
    assert run(machine, arch.socketpair, 1, 2 | close_on_exec) == refused(errno.EPERM)


@pytest.mark.parametrize("machine", seccomp.ARCHES)
def test_terminal_injection_is_refused_also_with_high_bits_set(machine: str) -> None:
    ioctl = seccomp.ARCHES[machine].ioctl
    assert run(machine, ioctl, 0, 0x5401) == ALLOW
    for request in (0x5412, 0x541C, 0x5412 | 1 << 32):
        assert run(machine, ioctl, 0, request) == refused(errno.EPERM)


def test_foreign_architectures_are_killed_and_x32_is_not_there() -> None:
    assert run("x86_64", 1, audit=0x40000003) == KILL
    assert run("aarch64", 1, audit=0x40000028) == KILL
    assert run("x86_64", 0x40000000 | 101) == refused(errno.ENOSYS)
