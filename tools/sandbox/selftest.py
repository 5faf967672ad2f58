"""The proof that the box holds: tried for real, from inside, against canaries outside.

Each check prints ``name=ok`` or ``name=bad``. What is missing counts as bad, so a script that
could not run proves nothing and the backend stays off.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from tools.backends.base import ExecutionResult
from tools.sandbox import box as boxes

Run = Callable[[str, Path], ExecutionResult]

_CHECKS = {
    "runs": "works at all",
    "canary": "a file outside is unreadable",
    "code": "the portal's own code is invisible",
    "workspace": "the workspace is writable",
    "outside": "nothing outside the workspace can be written",
    "interfaces": "there is no network interface but lo",
    "connect": "the host's loopback is out of reach",
    "filter": "the system-call filter is on",
    "unshare": "new namespaces are refused",
    "ptrace": "tracing is refused",
    "privileges": "no capabilities and no new privileges",
    "processes": "only own processes are visible",
    "environment": "the environment is clean",
}

_NAMESPACES = ("ipc", "mnt", "net", "pid", "uts")

# ptrace has no command of its own; whichever interpreter is there asks the kernel.
_SCRIPT = r"""
say() { if [ "$2" = 0 ]; then echo "$1=ok"; else echo "$1=bad"; fi; }
echo "runs=ok"
ok=0; for path in @CANARIES@; do cat "$path" >/dev/null 2>&1 && ok=1; done; say canary $ok
ok=0; ls @CODE@ >/dev/null 2>&1 && ok=1; say code $ok
echo x >/workspace/made 2>/dev/null; say workspace $?
ok=0; for path in / /usr /etc /dev /run /proc/sys/kernel/hostname; do
  { true >"$path/made" || true >"$path"; } 2>/dev/null && ok=1; done; say outside $ok
[ "$(sed 1,2d /proc/net/dev | cut -d: -f1 | tr -d ' \n')" = lo ]; say interfaces $?
ok=0; (exec 3<>/dev/tcp/127.0.0.1/@PORT@) 2>/dev/null && ok=1; say connect $ok
grep -q '^Seccomp:[[:space:]]*2' /proc/self/status; say filter $?
ok=0; unshare -U true 2>/dev/null && ok=1; unshare -m true 2>/dev/null && ok=1; say unshare $ok
trace=bad
if command -v perl >/dev/null; then
  perl -e 'exit(syscall(@PTRACE@, 0, 0, 0, 0) == -1 ? 0 : 1)' && trace=ok
elif command -v python3 >/dev/null; then
  python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != -1)' && trace=ok
else trace=untried; fi; echo "ptrace=$trace"
grep -q '^CapEff:[[:space:]]*0*$' /proc/self/status && grep -q '^NoNewPrivs:[[:space:]]*1' \
  /proc/self/status; say privileges $?
[ "$(ls -d /proc/[0-9]* | wc -l)" -lt 10 ]; say processes $?
ok=0; cat /proc/[0-9]*/environ | tr '\0' '\n' | cut -d= -f1 | grep -vqxE '@NAMES@' && ok=1
say environment $ok
for name in @NAMESPACES@; do echo "$name=$(readlink /proc/self/ns/$name)"; done
"""


def failures(run: Run, ptrace: int) -> list[str]:
    """What does not hold, in words; empty when all does. ``run`` executes a shell script in
    a workspace; ``ptrace`` is the number of that call here."""
    with contextlib.ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hermes-selftest-")))
        workspace = top / "workspace"
        workspace.mkdir()
        (top / "canary").write_text("canary")
        # Readable by everybody, so that only the box can be what hides it.
        top.chmod(0o755)
        (top / "canary").chmod(0o644)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        result = run(_script(top, listener.getsockname()[1], ptrace), workspace)
        leaked = [path.name for path in top.iterdir() if path.name not in ("canary", "workspace")]
    if result.error:
        return [result.error]
    lines = dict(line.split("=", 1) for line in result.output.splitlines() if "=" in line)
    if "runs" not in lines:
        return [result.output.strip() or f"exit code {result.exit_code}"]
    # Without an interpreter inside, the filter that refuses unshare is the one for ptrace.
    passed = {name for name, value in lines.items() if value in ("ok", "untried")}
    wrong = [f"not so: {text}" for name, text in _CHECKS.items() if name not in passed]
    wrong += [
        f"not so: the {name} namespace is its own"
        for name in _NAMESPACES
        if lines.get(name) in (None, "", os.readlink(f"/proc/self/ns/{name}"))
    ]
    return wrong + (["a file appeared outside the workspace"] if leaked else [])


def _script(top: Path, port: int, ptrace: int) -> str:
    canaries = [f"{top}/canary", "/workspace/../canary", f"/proc/1/root{top}/canary"]
    values = {
        "CANARIES": " ".join(map(shlex.quote, canaries)),
        "CODE": shlex.quote(str(Path(__file__).resolve())),
        "NAMESPACES": " ".join(_NAMESPACES),
        "PORT": str(port),
        "PTRACE": str(ptrace),
        "NAMES": "|".join([*boxes.environment({}), "PWD", "OLDPWD", "SHLVL", "_"]),
    }
    script = _SCRIPT
    for name, value in values.items():
        script = script.replace(f"@{name}@", value)
    return script
