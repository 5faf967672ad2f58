"""``kill -9`` of the turns worker in mid-stream, and SIGTERM: seconds until text flows again."""

from __future__ import annotations

import argparse
import signal
import time
from typing import Any

from bench.figures import percentile, save, table
from tests.fakes.planned_llm import planned_llm
from tests.fakes.portal import Portal
from tests.stack.client import Person, Watcher

WORDS = " ".join(f"word{number}" for number in range(300))
PLAN = f"PACE 0.05 PLAN [] SAY {WORDS}"
COLUMNS = ["what", "trials", "lost", "again_p50", "again_max"]


def streams(person: Person, count: int) -> list[tuple[Watcher, str]]:
    opened = []
    for _ in range(count):
        session = person.session()
        tab = person.watch(session)
        opened.append((tab, person.say(session, PLAN)["run"]))
    for tab, _ in opened:
        tab.until("message.delta")
    return opened


def trial(portal: Portal, person: Person, count: int, sign: int) -> tuple[list[float], int]:
    """Seconds from the signal to the first text after the restart, read one stream after the
    other, and how many answers were not whole in the end."""
    opened = streams(person, count)
    began = time.monotonic()
    portal.kill("turns", sign)
    waits, lost = [], 0
    for tab, _ in opened:
        # At SIGTERM a stream may also end within the grace time.
        if tab.until(_restarted, timeout=60)["type"] == "message.started":
            tab.until("message.delta", timeout=60)
            waits.append(time.monotonic() - began)
    for tab, run in opened:
        person.wait(run)
        lost += person.messages(tab.session)[-1]["text"] != WORDS
        tab.socket.close()
    return waits, lost


def _restarted(event: dict[str, Any]) -> bool:
    return event["type"] in ("message.started", "run.completed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with planned_llm() as (url, _), Portal(OPENAI_BASE_URL=url, HERMES_MODEL="planned") as portal:
        portal.manage("limit", "everyone", "message", "100000/m")
        token = portal.manage("create_token", portal.admin_email).stdout.strip()
        person = Person(portal, token)
        rows = [
            _row(portal, person, options, "kill -9", signal.SIGKILL),
            _row(portal, person, options, "SIGTERM", signal.SIGTERM),
        ]
    print(table(rows, COLUMNS))
    print(f"written to {save('recovery', rows)}")


def _row(
    portal: Portal, person: Person, options: argparse.Namespace, what: str, sign: int
) -> dict[str, Any]:
    waits: list[float] = []
    lost = 0
    for _ in range(options.repeat):
        old = portal.pid("turns")
        again, missing = trial(portal, person, options.streams, sign)
        waits += again
        lost += missing
        portal.wait_back("turns", old)
        time.sleep(2)
    return {
        "what": what,
        "trials": len(waits),
        "lost": lost,
        "again_p50": percentile(waits, 0.5),
        "again_max": percentile(waits, 1.0),
    }


if __name__ == "__main__":
    main()
