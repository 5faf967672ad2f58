"""`manage.py up`, the whole portal for real: ready, killed in every part, stopped, refused."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

import psutil
import pytest

from tests.fakes.portal import ROOT, Portal
from tests.fakes.servers import free_port, wait_for

NAMES = ["web", "turns", "tools", "default", "beat", "gateway", "valkey"]
pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def portal() -> Iterator[Portal]:
    with Portal() as portal:
        yield portal


def status(portal: Portal, path: str) -> int:
    """The HTTP status of a page, 0 when nobody answers."""
    try:
        with urllib.request.urlopen(portal.url + path, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def test_is_ready_and_names_every_process(portal: Portal) -> None:
    assert status(portal, "/healthz") == 200
    assert status(portal, "/readyz") == 200
    running = {process.pid for process in portal.family()}
    assert {portal.pid(name) for name in NAMES} <= running
    assert not (portal.home / "run" / "offline.pid").exists()
    assert portal.url in portal.output()


def test_says_who_the_administrator_is_but_not_a_password_that_was_given(portal: Portal) -> None:
    assert portal.admin_email in portal.output()
    assert portal.admin_password not in portal.output()


@pytest.mark.parametrize("name", NAMES)
def test_every_process_returns_after_a_kill(portal: Portal, name: str) -> None:
    new = portal.wait_back(name, portal.kill(name))
    assert psutil.pid_exists(new)
    wait_for(lambda: status(portal, "/readyz") == 200, "ready again", 60)


def test_a_second_portal_in_the_same_home_is_refused(portal: Portal) -> None:
    before = {name: portal.pid(name) for name in NAMES}
    second = portal.manage("up", check=False)
    assert second.returncode == 1
    assert "already runs" in second.stderr
    assert {name: portal.pid(name) for name in NAMES} == before


def test_a_taken_port_is_refused_before_anything_starts(portal: Portal) -> None:
    with contextlib.closing(Portal(HERMES_PORT=str(portal.port))) as other:
        other.start()
        assert other.process is not None
        assert other.process.wait(60) == 1
        assert f"HERMES_PORT={portal.port} is in use" in other.output()
        assert list((other.home / "run").glob("*.pid")) == []


def test_a_database_that_does_not_answer_is_named_with_its_mend() -> None:
    url = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    with contextlib.closing(Portal(DATABASE_URL=url)) as portal:
        portal.start()
        assert portal.process is not None
        assert portal.process.wait(60) == 1
        assert "set DATABASE_URL" in portal.output()
        assert "Traceback" not in portal.output()


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_leaves_nothing_behind_and_keeps_its_password(sign: signal.Signals) -> None:
    with contextlib.closing(Portal(HERMES_ADMIN_PASSWORD="", HERMES_OFFLINE="1")) as portal:
        portal.start().wait_ready()
        assert len(re.findall(r"password \S{12,} \(shown this once\)", portal.output())) == 1
        assert psutil.pid_exists(portal.pid("offline"))
        portal.stop(sign)
        portal.start().wait_ready()
        assert "shown this once" not in portal.output()
        assert portal.stop() == 0
        assert list((portal.home / "run").glob("*.pid")) == []


def test_ends_with_the_program_that_started_it() -> None:
    with contextlib.closing(Portal()) as portal:
        starter = subprocess.Popen(
            [
                "sh",
                "-c",
                f'"$0" manage.py up --tied > "{portal.output_path}" 2>&1; true',
                sys.executable,
            ],
            cwd=ROOT,
            env=portal.env,
            start_new_session=True,
        )
        portal.process = starter
        portal.wait_ready()
        family = portal.family()
        starter.kill()
        starter.wait(10)
        portal.process = None
        wait_for(lambda: not [p for p in family if p.is_running()], "every process ended", 60)
