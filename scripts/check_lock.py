"""Checks, without a network, that the lock files hold what pyproject.toml asks for."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent


def pins(path: Path) -> dict[str, Requirement]:
    """The ``name==version`` lines of a lock file, by canonical name."""
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    requirements = [Requirement(line) for line in lines if line and not line.startswith("-")]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def version(pin: Requirement) -> str:
    """The version of an exact pin, or "" for anything looser."""
    specifiers = list(pin.specifier)
    exact = len(specifiers) == 1 and specifiers[0].operator == "=="
    return specifiers[0].version if exact else ""


def faults(wanted: list[str], locked: dict[str, Requirement], lock: str) -> list[str]:
    """One sentence for each requirement that the lock does not meet."""
    found = []
    for requirement in map(Requirement, wanted):
        pin = locked.get(canonicalize_name(requirement.name))
        if pin is None:
            found.append(f"{lock} lacks {requirement}.")
        elif not requirement.specifier.contains(version(pin) or "0", prereleases=True):
            found.append(f"{lock} has {pin}, but pyproject.toml asks for {requirement}.")
    found += [f"{lock} does not pin {pin}." for pin in locked.values() if not version(pin)]
    return found


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    run = pins(ROOT / "requirements.txt")
    dev = pins(ROOT / "requirements-dev.txt")
    found = faults(project["project"]["dependencies"], run, "requirements.txt")
    found += faults(project["dependency-groups"]["dev"], dev, "requirements-dev.txt")
    found += [
        f"requirements-dev.txt has {dev[name]}, but requirements.txt has {pin}."
        for name, pin in run.items()
        if name in dev and version(dev[name]) != version(pin)
    ]
    for line in found:
        print(line, file=sys.stderr)
    if found:
        print("Mend it with: make lock", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
