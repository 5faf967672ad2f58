"""One whole portal for the tests of a module, with the planned model and the ledger's tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.ledger import plugged
from tests.fakes.planned_llm import planned_llm
from tests.fakes.portal import Portal
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
    with Portal(**settings) as portal:
        portal.manage("limit", "everyone", "message", "100000/m")
        portal.manage("limit", "everyone", "tool_call", "100000/m")
        yield portal


@pytest.fixture(scope="module")
def person(portal: Portal) -> Callable[[str], Person]:
    """Makes a person of a level, with a token."""
    count = iter(range(1000))

    def make(level: str = "auto") -> Person:
        email = f"user{next(count)}@example.org"
        portal.manage("create_user", email, "--password", "correct horse 9", "--level", level)
        return Person(portal, portal.manage("create_token", email).stdout.strip())

    return make
