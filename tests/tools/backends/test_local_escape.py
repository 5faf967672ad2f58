"""Ways out of the box, tried for real. None may read or change a canary outside."""

from __future__ import annotations

import errno
import json
import os
import platform
import subprocess
from pathlib import Path

import pytest

from tests.tools.backends.conftest import CANARY, Host
from tools.sandbox import seccomp

REPOSITORY = Path(__file__).resolve().parents[3]

# @TOP@ is the portal's home, @OTHER@ another user's workspace, @PORT@ a listener of the host,
# @PID@ a process of the host, @CODE@ the portal's code, @SOCK@ a unix socket's name without kind.
READS = {
    "absolute": "cat @TOP@/canary",
    "parent": "cat /workspace/../canary ../canary ../../canary",
    "other user": "cat @OTHER@/canary; ls @OTHER@/..",
    "root of init": "cat /proc/1/root@TOP@/canary",
    "own root": "cat /proc/self/root@TOP@/canary /proc/thread-self/root@TOP@/canary",
    "any root": "for p in /proc/[0-9]*; do cat $p/root@TOP@/canary $p/cwd/../canary; done",
    "cwd of init": "cat /proc/1/cwd/@TOP@/canary",
    "symlink": "ln -s @TOP@/canary l; cat l",
    "symlink to root": "ln -s / r; cat r@TOP@/canary r/proc/1/root@TOP@/canary",
    "symlink chain": "ln -s b a; ln -s ../.. b; cat a/canary a/../canary",
    "hard link": "ln @TOP@/canary h; cat h; ln ../canary h2; cat h2",
    "find": "find / -xdev -name 'canary*' -exec cat {} + ; "
    "find /etc /var /run /tmp /home /dev /proc/1 "
    "-name 'canary*' -exec cat {} +",
    "tar": "tar -cf - @TOP@ | tr -d '\\0'",
    "file mask": "cd / && cat w*/../canary .@TOP@/canary",
    "open descriptors": "for n in $(seq 3 60); do cat /proc/self/fd/$n/../canary <&-; "
    "cat <&$n; done",
    "root's files": "cat /etc/shadow /etc/gshadow /root/.bashrc /root/.ssh/* | head -c 99",
    "block device": "mknod d b 254 0; cat d | head -c 99; cat /dev/vda /dev/sda /dev/mem /dev/kmsg",
    "sysfs": "ls /sys/class /sys/kernel",
    "environment": "env; set; export -p",
    "environments": "cat /proc/[0-9]*/environ | tr '\\0' '\\n'",
    "command lines": "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep @TOP@",
    "memory of init": "dd if=/proc/1/mem bs=1 count=9; cat /proc/1/maps /proc/1/stack",
    "parent's environment": "cat /proc/$PPID/environ | tr '\\0' '\\n'",
    "code": "cat @CODE@/tools/backends/local.py @CODE@/hermes_site/settings.py",
    "kernel keys": "keyctl show; cat /proc/keys /proc/kcore /proc/kmsg | head -c 99",
}
WRITES = {
    "canary": "echo x >@TOP@/canary; echo x >>@OTHER@/canary",
    "through a link": "ln -s @TOP@ l; echo x >l/new; mkdir -p l/a/b; touch l/canary",
    "missing parent": "ln -s / esc; mkdir -p esc@TOP@/a; echo x >esc@TOP@/a/b",
    "parent": "echo x >../new; echo x >../../new; mv /workspace/../canary .",
    "remove": "rm -rf @TOP@ @OTHER@ ../../workspaces /workspace/../canary /home /var /run",
    "tar out": "echo x >f; tar -cf t --transform 's,^,../../,' -P f; tar -xPf t",
    "modes": "chmod 777 @TOP@/canary ..; chown 0 @TOP@/canary; touch -d 2001-01-01 @TOP@/canary",
    "hooks": "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch @TOP@/x' >.git/hooks/post-commit; "
    "chmod +x .git/hooks/post-commit; git init -q; git commit -q --allow-empty -m x",
    "control files": "mkdir -p .portal skills/x; echo '{}' >mcp.json; echo x >AGENTS.md; "
    "echo 'allow: all' >.portal/policy.yaml; echo x >skills/x/SKILL.md",
    "sysctl": "echo '|@TOP@/x' >/proc/sys/kernel/core_pattern; sysctl -w kernel.hostname=x",
    "sysrq": "echo h >/proc/sysrq-trigger",
    "cgroup": "mkdir /sys/fs/cgroup/x; echo x >/sys/fs/cgroup/release_agent; mkdir /tmp/c; "
    "mount -t cgroup none /tmp/c",
    "kill": "kill -0 @PID@ && echo ESCAPED; kill -9 @PID@",
    "kill group": "setsid sh -c 'kill -9 -@PID@; kill -9 0' & wait",
    "priority": "renice -n -20 $$ && echo ESCAPED; kill -STOP @PID@",
    "limits": "ulimit -u 9999 && echo ESCAPED; ulimit -n 99999 && echo ESCAPED; "
    "ulimit -t unlimited && echo ESCAPED",
}
REFUSED = {
    "system folders": "for d in / /usr /usr/bin /usr/lib /bin /lib /etc /dev /run /var /home; do "
    "touch $d/x && echo ESCAPED; done",
    "accounts": "echo 'x:x:0:0::/:/bin/sh' >>/etc/passwd && echo ESCAPED; : >/etc/ld.so.preload "
    "&& echo ESCAPED",
    "remount": "mount -o remount,rw /usr && echo ESCAPED; mount -o remount,rw / && echo ESCAPED",
    "bind mount": "mkdir m; mount --bind / m && echo ESCAPED; mount -t tmpfs x m && echo ESCAPED",
    "proc mount": "mkdir m; mount -t proc proc m && echo ESCAPED",
    "unmount": "umount /workspace && echo ESCAPED; umount -l /proc && echo ESCAPED",
    "user namespace": "unshare -Ur true && echo ESCAPED; unshare -r true && echo ESCAPED",
    "other namespaces": "for n in m p n i u C; do unshare -$n true && echo ESCAPED; done",
    "enter init": "nsenter -t 1 -m true && echo ESCAPED; nsenter -t 1 -a true && echo ESCAPED",
    "chroot": "chroot / true && echo ESCAPED; mkdir j; chroot j /x && echo ESCAPED",
    "own setuid": "cp /bin/bash b; chmod 6755 b; [ $(./b -p -c 'id -u') = 0 ] && echo ESCAPED",
    "system setuid": "su -c true </dev/null && echo ESCAPED; sudo -n true && echo ESCAPED",
    "capabilities": "grep -E '^Cap(Eff|Prm|Inh|Amb)' /proc/self/status | grep -v 0000000000000000 "
    "&& echo ESCAPED; setpriv --reuid=0 true && echo ESCAPED",
    "raw device": "mknod d c 1 1 && echo ESCAPED; mknod e b 8 0 && echo ESCAPED",
    "trace": "sleep 5 & strace -p $! -o /dev/null 2>/dev/null && echo ESCAPED; kill $!",
    "interfaces": "sed 1,2d /proc/net/dev | grep -v ' *lo:' && echo ESCAPED; "
    "grep -v Iface /proc/net/route && echo ESCAPED",
    "tcp": "for a in 127.0.0.1 ::1 localhost 10.0.0.1 169.254.169.254; do "
    'timeout 1 bash -c "exec 3<>/dev/tcp/$a/@PORT@" && echo ESCAPED; done',
    "udp": "echo x >/dev/udp/127.0.0.1/@PORT@; echo x >/dev/udp/8.8.8.8/53 && echo ESCAPED",
    "names": "getent hosts example.com && echo ESCAPED; getent ahosts metadata.google.internal",
    "known sockets": "ls /run/docker.sock /var/run/docker.sock /run/dbus /run/systemd "
    "&& echo ESCAPED; ls -A /run | grep . && echo ESCAPED",
    "history of others": "[ $(ls -d /proc/[0-9]* | wc -l) -gt 8 ] && echo ESCAPED; ps ax | grep "
    "'[p]ytest' && echo ESCAPED",
}
PYTHON = {
    "setuid": "os.setuid(0)",
    "setgroups": "os.setgroups([0])",
    "unix path": "socket.socket(socket.AF_UNIX).connect('@SOCK@-1')",
    "unix abstract": "socket.socket(socket.AF_UNIX).connect('\\0hermes-@PID@-1')",
    "unix datagram pair": "socket.socketpair(type=2)[0].sendto(b'x', '@SOCK@-2')",
    "unix abstract pair": "socket.socketpair(type=2)[0].connect('\\0hermes-@PID@-2')",
    "vsock": "socket.socket(40, socket.SOCK_STREAM)",
    "netlink": "socket.socket(16, socket.SOCK_RAW, 0)",
    "packet": "socket.socket(17, socket.SOCK_RAW, 0)",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "tcp": "socket.create_connection(('127.0.0.1', @PORT@), 1)",
    "any address": "socket.create_connection(('0.0.0.0', @PORT@), 1)",
    "metadata": "socket.create_connection(('169.254.169.254', 80), 1)",
    "django": "import django",
    "settings": "sys.path.insert(0, '@CODE@'); import hermes_site.settings",
    "tools": "sys.path.insert(0, '@CODE@'); import tools",
    "clone into a namespace": "check(libc.syscall(@CLONE@, 0x10000011, 0, 0, 0, 0))",
    "clone3": "check(libc.syscall(435, ctypes.create_string_buffer(88), 88))",
    "setns": "check(libc.setns(os.open('/proc/self/ns/user', 0), 0))",
    "trace init": "check(libc.ptrace(16, 1, 0, 0))",
    "trace me": "check(libc.ptrace(0, 0, 0, 0))",
    "hostname": "socket.sethostname('x')",
    "terminal": "fcntl.ioctl(os.openpty()[1], 0x5412, b'x')",
    "handle": "check(libc.open_by_handle_at(3, ctypes.create_string_buffer(64), 0))",
    "x32": "check(libc.syscall(0x40000000 | 39) if os.uname().machine == 'x86_64' else -1)",
}
PRELUDE = """
import ctypes, fcntl, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
try:
    @BODY@
    print("ESCAPED")
except (OSError, ImportError) as error:
    print("TRIED", error)
"""


def filled(script: str, host: Host) -> str:
    values = {
        "TOP": str(host.top),
        "OTHER": str(host.other),
        "PORT": str(host.port),
        "PID": str(os.getpid()),
        "CODE": str(REPOSITORY),
        "SOCK": f"/tmp/hermes-{os.getpid()}",
        "CLONE": str(seccomp.ARCHES[platform.machine()].clone),
    }
    for name, value in values.items():
        script = script.replace(f"@{name}@", value)
    return script


def attempt(host: Host, script: str) -> str:
    """Run a try, and hold that nothing outside was seen, changed or reached."""
    before = host.outside()
    result = host.run(filled(script, host), timeout=10)
    assert result.error is None, result.error
    assert "TRIED" in result.output
    assert CANARY not in result.output
    assert "ESCAPED" not in result.output
    assert host.outside() == before
    assert not host.knocked()
    return result.output


@pytest.mark.parametrize("name", READS)
def test_nothing_outside_is_read(host: Host, name: str) -> None:
    attempt(host, f"{READS[name]}\necho TRIED")


@pytest.mark.parametrize("name", WRITES)
def test_nothing_outside_is_written(host: Host, name: str) -> None:
    attempt(host, f"({WRITES[name]}\n)\necho TRIED")


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_box_forbids_is_refused(host: Host, name: str) -> None:
    attempt(host, f"{REFUSED[name]}\necho TRIED")


@pytest.mark.parametrize("name", PYTHON)
def test_system_calls_and_imports_are_refused(host: Host, name: str) -> None:
    code = PRELUDE.replace("@BODY@", PYTHON[name])
    attempt(host, f"cat >try.py <<'END'\n{code}\nEND\npython3 try.py")


def test_every_denied_call_is_refused_by_the_running_kernel(host: Host) -> None:
    calls = seccomp.denied_calls(platform.machine())
    code = (
        "import ctypes, json\nlibc = ctypes.CDLL(None, use_errno=True)\nout = {}\n"
        f"for name, number in {calls!r}.items():\n"
        "    out[name] = [libc.syscall(number, 0, 0, 0, 0, 0, 0), ctypes.get_errno()]\n"
        "print(json.dumps(out))"
    )
    (host.workspace / "calls.py").write_text(code)
    answers = json.loads(host.run("python3 calls.py").output)
    assert answers == {name: [-1, errno.EPERM] for name in calls}


def test_the_same_tries_succeed_without_the_box(host: Host) -> None:
    """So that the tests above can fail."""
    script = (
        "cat @TOP@/canary; echo x >@TOP@/new; env | grep OPENAI; "
        "exec 3<>/dev/tcp/127.0.0.1/@PORT@; cat @CODE@/tools/backends/local.py | head -1"
    )
    bare = subprocess.run(
        ["bash", "-c", filled(script, host)], capture_output=True, text=True, check=True
    )
    assert bare.stdout.count(CANARY) == 2
    assert "Commands on this machine" in bare.stdout
    assert (host.top / "new").exists()
    assert host.knocked()


def test_git_config_and_hooks_that_exist_are_read_only(host: Host) -> None:
    assert host.run("git init -q . && git commit -q --allow-empty -m one").exit_code == 0
    config = (host.workspace / ".git/config").read_bytes()
    result = host.run(
        "echo x >.git/hooks/post-commit; echo x >.git/config; git config core.fsmonitor x; "
        "rm -rf .git/hooks; mv .git .other; git commit -q --allow-empty -m two; git log --oneline"
    )
    assert result.output.count("Read-only file system") >= 2
    assert [line[8:] for line in result.output.splitlines()[-2:]] == ["two", "one"]
    assert (host.workspace / ".git/config").read_bytes() == config
    assert not (host.workspace / ".git/hooks/post-commit").exists()


def test_a_git_file_cannot_be_pointed_elsewhere_and_links_are_not_mounted(host: Host) -> None:
    (host.workspace / ".git").write_text(f"gitdir: {host.top}\n")
    host.run("echo 'gitdir: /tmp' >.git; rm -f .git; mv .git x")
    assert (host.workspace / ".git").read_text() == f"gitdir: {host.top}\n"
    (host.workspace / ".git").unlink()
    (host.workspace / ".git").symlink_to(host.top)
    assert CANARY not in host.run("ls .git/; cat .git/canary").output
