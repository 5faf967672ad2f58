"""One whole portal for the tests of a module, with the planned model and the ledger's tools."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.fakes.chromium import chromium_arguments, chromium_executable
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = chromium_executable()
    if executable is None:
        pytest.skip("Chromium is not installed and could not be (scripts/install_chromium.sh)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=list(chromium_arguments())
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def cookies(browser: Browser, portal: Portal) -> Any:
    """The login of the administrator, made once: sign-in is limited too."""
    page = browser.new_page()
    page.goto(f"{portal.url}/")
    page.fill("input[name=login]", portal.admin_email)
    page.fill("input[name=password]", portal.admin_password)
    page.click("button[type=submit]")
    page.wait_for_url(f"{portal.url}/")
    state = page.context.storage_state()
    page.context.close()
    return state


@pytest.fixture
def open_page(browser: Browser, cookies: Any) -> Iterator[Any]:
    """Makes logged-in pages; at the end none of them may have complained."""
    complaints: list[str] = []
    contexts = []

    def open_page(**options: Any) -> Page:
        context = browser.new_context(storage_state=cookies, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type == "error" else None,
        )
        return page

    yield open_page
    for context in contexts:
        context.close()
    # The browser itself reports a page that is not there, and being offline or cut off.
    known = ("404", "INTERNET_DISCONNECTED", "ERR_FAILED")
    ours = [said for said in complaints if not any(word in said for word in known)]
    assert ours == []
