"""Plans for the model, and what a run that followed one must have left."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fakes.ledger import effects
from tests.stack.client import Person

LOOK = ["current_time", {}]


def message(turns: list[list[list[Any]]], say: str, pace: float = 0) -> str:
    return f"PACE {pace} PLAN {json.dumps(turns)} SAY {say}"


def twelve_steps(mark: str) -> str:
    """Twelve model calls: eleven with tools, of which three leave an effect and one needs a
    yes, and the answer."""
    turns: list[list[list[Any]]] = [[LOOK] for _ in range(11)]
    for step, name in ((2, "a"), (5, "b"), (9, "c")):
        turns[step] = [["ledger_write", {"text": f"{mark}-{name}", "seconds": 0.05}]]
    turns[7] = [["shell", {"command": f"touch {mark}"}]]
    return message(turns, f"All of {mark} is done and told", 0.02)


def check_twelve(
    person: Person, session: str, run: dict[str, Any], mark: str, ledger: Path
) -> None:
    """Nothing lost, nothing doubled: every call has one outcome, an effect happened once, or
    its call says that its outcome is not known."""
    assert run["state"] == "completed", run
    messages = person.messages(session)
    answers = [m for m in messages if m["role"] == "assistant" and m["run"] == run["id"]]
    assert Counter(m["state"] for m in answers) == {"completed": 12}
    assert answers[-1]["text"].strip() == f"All of {mark} is done and told"
    calls = [call for answer in answers for call in answer["tool_calls"]]
    assert len(calls) == 11
    happened = effects(ledger, prefix=mark)
    assert all(count == 1 for count in happened.values()), happened
    for call in calls:
        if call["name"] == "ledger_write" and call["state"] == "completed":
            assert happened[call["arguments"]["text"]] == 1
        assert call["state"] in ("completed", "unknown"), call
        assert call["state"] != "unknown" or call["category"] != "read", call
