"""The lock check: what is missing, too old or loose is named."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

import check_lock  # noqa: E402


def locked(tmp_path: Path, text: str) -> dict[str, check_lock.Requirement]:
    path = tmp_path / "requirements.txt"
    path.write_text(text)
    return check_lock.pins(path)


def test_a_lock_in_step_has_no_fault(tmp_path: Path) -> None:
    pins = locked(
        tmp_path,
        "django==5.2.19\n    # via hermes\nPsycopg-Binary==3.3.1\n"
        "win32==1.0 ; sys_platform == 'win32'\n",
    )
    wanted = ["django~=5.2.0", "psycopg.binary[fast]>=3.3"]
    assert check_lock.faults(wanted, pins, "lock") == []


def test_every_kind_of_fault_is_named(tmp_path: Path) -> None:
    pins = locked(tmp_path, "django==4.2.1\nredis>=5\n")
    assert check_lock.faults(["django~=5.2.0", "celery", "redis"], pins, "lock") == [
        "lock has django==4.2.1, but pyproject.toml asks for django~=5.2.0.",
        "lock lacks celery.",
        "lock does not pin redis>=5.",
    ]


def test_the_locks_of_this_tree_are_in_step() -> None:
    assert check_lock.main() == 0
