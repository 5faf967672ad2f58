"""The house rules, held by looking at the code itself."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest
from django.apps import apps

from accounts.models.owned import OwnedQuerySet

ROOT = Path(__file__).resolve().parent.parent
APPS = ("hermes_site", "accounts", "memory", "tools", "agents", "gateway")
SOURCES = sorted(
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    if "/migrations/" not in name and (ROOT / name).exists()
)
PRODUCT = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in APPS]
# A door may read these without ``for_user``: each with its reason.
UNSCOPED = {
    "gateway/connections.py": "checks all sockets of a process at once, by their own ids",
    "gateway/feed.py": "the session was checked on connect, and again by the snapshot",
}


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_files_and_functions_stay_short() -> None:
    long_files = [p for p in SOURCES if len(p.read_text().splitlines()) > 600]
    assert names(long_files) == []
    long_functions = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno > 80
    ]
    assert long_functions == []


def test_names_say_what_is_inside() -> None:
    vague = {"utils", "helpers", "helper", "common", "manager", "misc"}
    assert [name for name in names(PRODUCT) if Path(name).stem in vague] == []


def test_every_module_says_what_it_owns() -> None:
    plain = {"apps.py", "manage.py", "urls.py"}
    silent = [p for p in PRODUCT if p.name not in plain and not ast.get_docstring(tree(p))]
    assert [name for name in names(silent) if (ROOT / name).read_text().strip()] == []


def test_nothing_is_pickled() -> None:
    unsafe = re.compile(
        r"^\s*(import pickle|from pickle)|yaml\.load\(|serializer.{0,20}pickle", re.M
    )
    assert names([p for p in PRODUCT if unsafe.search(p.read_text())]) == []


def test_doors_read_what_is_owned_through_for_user() -> None:
    owned = {
        model.__name__
        for model in apps.get_models()
        if isinstance(model._default_manager.all(), OwnedQuerySet)
    }
    assert {"Session", "Message", "Run", "ToolCall", "Approval", "Attachment"} <= owned
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in PRODUCT
        if str(path.relative_to(ROOT)).startswith("gateway/")
        and str(path.relative_to(ROOT)) not in UNSCOPED
        for call in ast.walk(tree(path))
        if isinstance(call, ast.Call)
        and _objects_of(call.func) in owned
        and call.func.attr != "for_user"  # type: ignore[attr-defined]
        and not _correlated(call)
    ]
    assert found == []


def _correlated(call: ast.Call) -> bool:
    """A subquery over rows of an outer query, which is scoped itself."""
    return any(isinstance(node, ast.Name) and node.id == "OuterRef" for node in ast.walk(call))


def _objects_of(node: ast.AST) -> str:
    """``Model`` in ``Model.objects.something``."""
    match node:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=model), attr="objects")):
            return model
    return ""


def test_tasks_are_short_and_take_only_ids() -> None:
    for app in APPS:
        path = ROOT / app / "tasks.py"
        for node in ast.walk(tree(path)) if path.exists() else []:
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 15, node.name
                assert all(a.arg.endswith("_id") for a in node.args.args), node.name


def test_every_fault_point_is_walked_by_the_crash_tests() -> None:
    from tests.stack.test_crashes import POINTS

    called = re.compile(r"\bfault\(\"([a-z_]+)\"\)")
    points = {m for path in PRODUCT for m in called.findall(path.read_text())}
    assert points <= set(POINTS)


@pytest.mark.parametrize("path", names(PRODUCT))
def test_annotations_are_lazy(path: str) -> None:
    code = tree(ROOT / path)
    if any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in code.body):
        lazy = any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in code.body
        )
        assert lazy or Path(path).name in ("apps.py", "manage.py")
