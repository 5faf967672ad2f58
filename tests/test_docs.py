"""The papers say what the code does: settings, events, addresses, commands, examples."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hermes_site.lib import events
from tools.declare import ToolContext

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PACKAGES = ("hermes_site", "accounts", "memory", "tools", "agents", "gateway")
READERS = {"text", "flag", "number", "integer", "words", "choice"}
GUIDES = ("user-guide", "admin-guide")
BLOCK = re.compile(r"^```python test\n(.*?)^```", re.M | re.S)


def paper(name: str) -> str:
    return (ROOT / name).read_text()


def papers() -> Iterator[Path]:
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted(DOCS.rglob("*.md"))


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from (ROOT / package).rglob("*.py")


# --- Settings -----------------------------------------------------------------------------------


def settings_read() -> set[str]:
    """The first argument of every ``env.text("NAME")`` and its like in the code."""
    calls = (
        node
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    return {
        str(call.args[0].value)
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and (call.func.value.id, call.func.attr in READERS) == ("env", True)
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }


def test_every_setting_is_documented_and_every_documented_one_is_read() -> None:
    documented = set(re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \|", paper("docs/deployment.md"), re.M))
    assert documented == settings_read()


def test_the_example_environment_names_only_settings() -> None:
    named = re.findall(r"^#?([A-Z][A-Z0-9_]*)=", paper(".env.example"), re.M)
    assert {name.removesuffix("_FILE") for name in named} == settings_read() - {"HERMES_ENV_FILE"}


# --- The API ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", events.Event.__subclasses__(), ids=lambda kind: kind.type)
def test_every_event_is_documented_with_its_fields(kind: type[events.Event]) -> None:
    section = paper("docs/api.md").partition("\n## Events\n")[2].partition("\n## ")[0]
    row = next((row for row in section.splitlines() if row.startswith(f"| `{kind.type}` |")), "")
    documented = set(re.findall(r"`(\w+)`", row.split("|")[2])) if row else set()
    assert documented == {field.name for field in fields(kind)}
    assert ("yes" if kind.durable else "no") == row.split("|")[3].strip()


def test_every_address_of_the_api_is_documented() -> None:
    from gateway.api.urls import VIEWS

    rows = re.findall(r"^\| ([A-Z ]+) \| `([^`]+)` \|", paper("docs/api.md"), re.M)
    documented = {address: set(methods.split()) for methods, address in rows}
    assert documented.pop("sessions/{id}/events") == {"GET"}  # not a REST view
    names = ("get", "post", "put", "patch", "delete")
    served = {
        route.replace("<uuid:id>", "{id}"): {n.upper() for n in names if hasattr(view, n)}
        for route, view in VIEWS.items()
    }
    assert documented == served


def test_every_command_is_named() -> None:
    text = "\n".join(path.read_text() for path in papers())
    commands = {path.stem for p in PACKAGES for path in (ROOT / p).glob("management/commands/*.py")}
    missing = [name for name in commands - {"__init__"} if f"manage.py {name}" not in text]
    assert missing == []


# --- What papers point at -----------------------------------------------------------------------


def test_every_test_that_is_named_exists() -> None:
    named = {
        found
        for path in papers()
        for found in re.findall(r"(tests/[\w/]+\.py)::(test_\w+)", path.read_text())
    }
    assert named
    missing = [n for n in named if f"def {n[1]}(" not in (ROOT / n[0]).read_text()]
    assert missing == []


def test_every_dependency_has_its_line() -> None:
    listed = tomllib.loads(paper("pyproject.toml"))["project"]["dependencies"]
    wanted = {re.split(r"[\[~=<>]", line)[0] for line in listed}
    table = paper("docs/decisions/0001-libraries.md").partition("## What only")[0]
    assert set(re.findall(r"^\| ([a-z][\w-]*) \|", table, re.M)) - {"dependency"} == wanted


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in sorted((DOCS / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("guide", GUIDES)
def test_both_languages_have_the_same_sections(guide: str) -> None:
    def sections(name: str) -> list[str]:
        return re.findall(r"^(#+) ", paper(f"docs/{name}.md"), re.M)

    assert sections(guide) == sections(f"{guide}.zh-hans")


def test_contributing_is_short() -> None:
    assert len(paper("CONTRIBUTING.md").splitlines()) < 150


# --- The examples -------------------------------------------------------------------------------


def recipes() -> dict[str, list[str]]:
    """The tested blocks of each section of docs/extending.md."""
    sections = re.split(r"^## ", paper("docs/extending.md"), flags=re.M)[1:]
    found = {section.splitlines()[0]: BLOCK.findall(section) for section in sections}
    return {name: blocks for name, blocks in found.items() if blocks}


RECIPES = recipes()


def run_blocks(blocks: list[str]) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "recipe"}
    for block in blocks:
        exec(compile(block, "docs/extending.md", "exec", dont_inherit=True), namespace)
    return namespace


@pytest.fixture
def context() -> Callable[[Path], ToolContext]:
    from tools.backends.local import BACKEND

    def make(workspace: Path) -> ToolContext:
        return ToolContext(None, uuid4(), None, uuid4(), workspace, BACKEND)

    return make


def test_there_is_a_recipe_for_each_kind_of_plug_in() -> None:
    assert list(RECIPES) == ["A tool", "A model provider", "An engine", "A terminal backend"]


@pytest.mark.parametrize("name", RECIPES)
def test_the_example_works(name: str, tmp_path: Path, context: Any) -> None:
    namespace = run_blocks(RECIPES[name])
    given = {"tmp_path": tmp_path, "context": context}
    tests = [value for key, value in namespace.items() if key.startswith("test_")]
    assert len(tests) == 1
    for test in tests:
        names = test.__code__.co_varnames[: test.__code__.co_argcount]
        test(**{argument: given[argument] for argument in names})


@pytest.mark.rows
def test_the_example_tool_goes_all_the_way(
    alice: Any, valkey: Any, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    from agents.services import message_send, run_begin, turn_save
    from memory.services import session_create
    from tools.execution import run_call
    from tools.models import ToolCall
    from tools.registry import TOOLS
    from tools.workspace import workspace_for

    monkeypatch.setattr("hermes_site.lib.wake.wake", lambda task, id: None)
    (declared,) = run_blocks(RECIPES["A tool"])["TOOLS"]
    monkeypatch.setitem(TOOLS.all(), declared.name, declared)
    (workspace_for(settings.HERMES_HOME, alice.pk) / "a.txt").write_text("one two three")
    said = '/tool count_words {"path": "a.txt", "least": "4"}'
    _, run = message_send(alice, session_create(alice), text=said, surface="api")
    work = run_begin(run.pk, "worker")
    assert work is not None and work.direct is not None
    turn_save(work.lease, work.direct, "")
    call = ToolCall.objects.get(run_id=run.pk)
    run_call(call.pk)
    call.refresh_from_db()
    assert (call.outcome, call.state, call.result) == ("auto", "completed", "1 words")
