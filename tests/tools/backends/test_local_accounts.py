"""The account that commands run as: the portal as root, and the portal as anybody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from uuid import uuid4

import pytest

from tests.tools.backends.conftest import Host
from tools.backends.local import BACKEND, LocalBackend
from tools.sandbox import box, identity
from tools.workspace import workspace_for

REPOSITORY = Path(__file__).resolve().parents[3]
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other accounts")

SCRIPT = """
import json, pathlib, sys
from tools.backends.local import BACKEND
from tools.workspace import Workspace
root = pathlib.Path(sys.argv[1])
Workspace(root).write("f", b"1")
count = "perl -e 'my $n = 0; while ($n < 999) { last unless defined(my $p = fork); "
count += "if (!$p) { sleep 9; exit } $n++ } print $n'"
commands = ["id -u; cat f; echo 2 >>f; cat f", "cat ../canary", "unshare -U true", count]
results = [BACKEND.execute(command, workspace=root) for command in commands]
print(json.dumps([BACKEND.health().detail, *[[r.output, r.exit_code, r.error] for r in results]]))
"""


def python_for_nobody() -> str:
    """An interpreter that the account can run."""
    for path in (sys.executable, "/usr/bin/python3"):
        try:
            check = "import sys; sys.exit(sys.version_info[:2] != tuple(map(int, sys.argv[1:])))"
            words = [path, "-c", check, *map(str, sys.version_info[:2])]
            if subprocess.run(words, user=NOBODY, group=NOBODY, cwd="/").returncode == 0:
                return path
        except OSError:
            continue
    pytest.skip("no interpreter of this version that another account can run")


@as_root
def test_an_unprivileged_portal_has_the_same_walls(host: Host, tmp_path: Path) -> None:
    python = python_for_nobody()
    for folder in (host.top, *host.top.parents):
        if Path("/tmp") in folder.parents:
            folder.chmod(0o755)
    (host.top / "workspaces").chmod(0o755)
    os.chown(host.workspace, NOBODY, NOBODY)
    result = subprocess.run(
        [python, "-c", SCRIPT, str(host.workspace)],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        env={"PYTHONPATH": f"{REPOSITORY}:{sysconfig.get_paths()['purelib']}"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    health, files, canary, namespace, (forks, *_) = json.loads(result.stdout)
    assert health.endswith("isolated")
    assert files == ["1000\n112\n", 0, None]
    assert canary[1:] == [1, None]
    assert namespace[1:] == [1, None]
    assert 200 < int(forks) < 256
    assert (host.workspace / "f").stat().st_uid == NOBODY


@as_root
def test_root_without_an_account_of_its_own_is_noticed(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "host_uid", lambda workspace: None)
    health = LocalBackend().health_check()
    assert not health.ok
    assert "nothing outside the workspace can be written" in health.detail


@as_root
def test_a_box_without_setpriv_is_noticed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "_become", lambda uid: ["no-such-setpriv"])
    health = LocalBackend().health_check()
    assert not health.ok
    assert "no-such-setpriv" in health.detail


@as_root
def test_each_workspace_has_its_own_account(host: Host) -> None:
    seen = {host.run("id -u").output}
    for _ in range(3):
        other = workspace_for(host.top, uuid4())
        seen.add(BACKEND.execute("id -u", workspace=other).output)
    assert len(seen) == 4
    assert not seen & {"0\n", "1000\n"}


def test_only_own_files_belong_to_the_command(host: Host) -> None:
    (host.workspace / "made-by-the-portal").write_text("1")
    result = host.run("id -u; echo 2 >>made-by-the-portal; cat made-by-the-portal; stat -c %u .")
    uid, *content, owner = result.output.split()
    assert content == ["12"]
    assert uid == owner != "0"
