"""Reading the effect ledger, and plugging its tools into a portal under test."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

PLUGINS = Path(__file__).parent / "plugins"


def plugged(ledger: Path) -> dict[str, str]:
    """Environment for a portal that has the ledger's tools."""
    path = os.pathsep.join(filter(None, [str(PLUGINS), os.environ.get("PYTHONPATH", "")]))
    return {"PYTHONPATH": path, "HERMES_TEST_LEDGER": str(ledger)}


def effects(ledger: Path, *, prefix: str = "") -> Counter[str]:
    """How often each text was marked by something else than reading."""
    return Counter(
        line["text"]
        for line in lines(ledger)
        if line["kind"] != "read" and line["text"].startswith(prefix)
    )


def lines(ledger: Path) -> list[dict[str, Any]]:
    if not ledger.exists():
        return []
    return [json.loads(line) for line in ledger.read_text().splitlines()]
