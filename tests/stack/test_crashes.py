"""P1, P2, P4: processes die at any moment of a run, and every run still ends as it should.

Trials: each concurrent run that lives through a kill is one. ``HERMES_TRIALS`` multiplies them
(``make bench-faults``).
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.portal import Portal
from tests.stack.client import Approver, Person
from tests.stack.plans import check_twelve, twelve_steps

pytestmark = pytest.mark.stack
TRIALS = int(os.environ.get("HERMES_TRIALS", "1"))
# Runs that are under way when the process dies.
LIVE = 8
VICTIMS = ("turns", "tools", "web", "valkey")
POINTS = (
    "message_inserted",
    "message_committed",
    "before_enqueue",
    "event_before_publish",
    "event_before_number",
    "lease_taken",
    "turn_before_save",
    "turn_saved",
    "turn_committed",
    "tool_started",
    "ledger_before_mark",
    "ledger_after_mark",
    "tool_effect_done",
    "tool_before_save",
    "tool_after_save",
    "approval_decided",
    "approval_committed",
)


@pytest.mark.rows
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("trial", range(TRIALS))
def test_runs_survive_a_kill_at_a_random_moment(
    portal: Portal, person: Callable[[str], Person], ledger: Path, victim: str, trial: int
) -> None:
    alice = person("auto")
    marks = [f"{victim}{trial}x{index}" for index in range(LIVE)]
    sent = []
    for mark in marks:
        session = alice.session()
        sent.append((mark, session, alice.say(session, twelve_steps(mark))["run"]))
    with Approver(alice):
        time.sleep(random.Random(f"{victim}{trial}").uniform(0.3, 2.0))
        old = portal.kill(victim)
        for mark, session, run in sent:
            check_twelve(alice, session, alice.wait(run), mark, ledger)
    portal.wait_back(victim, old)


@pytest.mark.parametrize("point", POINTS)
def test_a_run_survives_a_kill_at_each_fault_point(
    portal: Portal, person: Callable[[str], Person], ledger: Path, point: str
) -> None:
    alice = person("auto")
    for trial in range(TRIALS):
        mark = f"{point}{trial}"
        session = alice.session()
        # The second time by, where there is one: the first steps have then been done.
        once = point.startswith(("approval", "message"))
        portal.faults(f"{point} kill {1 if once else 2}")
        with Approver(alice):
            run = alice.say(session, twelve_steps(mark))["run"]
            check_twelve(alice, session, alice.wait(run), mark, ledger)
        assert portal.faults_path.read_text() == "", f"{point} was never reached"
