"""P2: Redis stands still, comes back empty or is flushed while runs are live; all still end.

``HERMES_TRIALS`` multiplies the trials; each live run is one.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.portal import Portal
from tests.stack.client import Approver, Person
from tests.stack.plans import check_twelve, message, twelve_steps
from tests.stack.test_clients import redis_of

pytestmark = [pytest.mark.stack, pytest.mark.rows]
TRIALS = int(os.environ.get("HERMES_TRIALS", "1"))
LIVE = 6


def stand_still(portal: Portal, seconds: float) -> None:
    pid = portal.kill("valkey", signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(pid, signal.SIGCONT)


def come_back_empty(portal: Portal, seconds: float) -> None:
    pid = portal.kill("valkey", signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    portal.wait_back("valkey", pid)


def flush(portal: Portal, seconds: float) -> None:
    redis_of(portal).flushall()


@pytest.mark.parametrize("outage", [stand_still, come_back_empty, flush])
@pytest.mark.parametrize("trial", range(TRIALS))
def test_runs_survive_an_outage_of_redis(
    portal: Portal,
    person: Callable[[str], Person],
    ledger: Path,
    outage: Callable[[Portal, float], None],
    trial: int,
) -> None:
    alice, chance = person("auto"), random.Random(f"{outage.__name__}{trial}")
    marks = [f"{outage.__name__}{trial}x{index}" for index in range(LIVE)]
    sent = []
    for mark in marks:
        session = alice.session()
        sent.append((mark, session, alice.say(session, twelve_steps(mark))["run"]))
    with Approver(alice):
        time.sleep(chance.uniform(0.3, 2.0))
        outage(portal, chance.uniform(1, 12))
        back = time.monotonic()
        session = alice.session()
        probe = alice.wait(alice.say(session, message([], "still here", 0.0))["run"])
        assert (probe["state"], time.monotonic() - back < 30) == ("completed", True)
        for mark, session, run in sent:
            check_twelve(alice, session, alice.wait(run), mark, ledger)
