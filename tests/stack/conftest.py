"""One whole portal for the tests of a module, with the planned model and the ledger's tools."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.ledger import plugged
from tests.fakes.planned_llm import planned_llm
from tests.fakes.portal import Portal
from tests.fakes.servers import new_database
from tests.stack.client import Person


@pytest.fixture(scope="module")
def model() -> Iterator[tuple[str, Path]]:
    with planned_llm() as server:
        yield server


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ledger") / "effects.jsonl"


@pytest.fixture(scope="module")
def portal(model: tuple[str, Path], ledger: Path) -> Iterator[Portal]:
    settings = {
        "OPENAI_BASE_URL": model[0],
        "HERMES_MODEL": "planned",
        "HERMES_APPROVAL_SECONDS": "60",
        **plugged(ledger),
    }
    if server := os.environ.get("DATABASE_URL"):  # the second round, on PostgreSQL
        settings["DATABASE_URL"] = new_database(server)
    with Portal(**settings) as portal:
        portal.manage("limit", "everyone", "message", "100000/m")
        portal.manage("limit", "everyone", "tool_call", "100000/m")
        yield portal


_MAKE_PEOPLE = """
import json
from accounts.services import token_create, user_create
for level in ("auto", "full-access"):
    for number in range(40):
        user = user_create(email=f"{level}{number}@example.org", level=level)
        print(json.dumps([level, token_create(user)[1]]))
"""


@pytest.fixture(scope="module")
def person(portal: Portal) -> Callable[[str], Person]:
    """Makes a person of a level, with a token; all of a module at once, since each command of
    the portal takes its time to start."""
    tokens: dict[str, list[str]] = {"auto": [], "full-access": []}
    for line in portal.manage("shell", "-c", _MAKE_PEOPLE).stdout.splitlines():
        if line.startswith("["):
            level, token = json.loads(line)
            tokens[level].append(token)
    return lambda level="auto": Person(portal, tokens[level].pop())
