"""From streams to figures."""

from __future__ import annotations

import json
import platform
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil

from bench.clients import Stream

RESULTS = Path(__file__).parent / "results"


def percentile(values: list[float], part: float) -> float | None:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 3) if ordered else None


def figures(streams: list[Stream], wall: float) -> dict[str, Any]:
    """Milliseconds added per token and to the first token, and whether streams kept up."""
    done = [s for s in streams if s.complete]
    added = [ns / 1e6 for s in done for ns in s.added]
    first = [(s.first - s.sent) / 1e6 - s.shape.ttft for s in done]
    stretch = [
        (s.last - s.first) / 1e9 / ((s.shape.tokens - 1) / s.shape.rate)
        for s in done
        if s.shape.rate and s.shape.tokens > 1
    ]
    return {
        "streams": len(streams),
        "errors": len(streams) - len(done),
        "kinds": dict(Counter(s.error or f"short {s.seen}" for s in streams if not s.complete)),
        "token_p50": percentile(added, 0.5),
        "token_p95": percentile(added, 0.95),
        "token_p99": percentile(added, 0.99),
        "first_p50": percentile(first, 0.5),
        "first_p95": percentile(first, 0.95),
        "stretch_p50": percentile(stretch, 0.5),
        "stretch_max": percentile(stretch, 1.0),
        "tokens_per_s": round(len(added) / wall, 1),
        "events_per_token": round(sum(s.events for s in done) / len(added), 2) if added else None,
    }


class Meter:
    """CPU seconds and memory of process trees, by name."""

    def __init__(self, roots: dict[str, int]) -> None:
        self._roots = roots
        self._before = {name: self._cpu(pid) for name, pid in roots.items()}

    def read(self) -> dict[str, Any]:
        cpu = {name: round(self._cpu(p) - self._before[name], 2) for name, p in self._roots.items()}
        rss = {name: round(self._rss(pid) / 2**20, 1) for name, pid in self._roots.items()}
        return {"cpu_s": cpu, "rss_mb": rss}

    @staticmethod
    def _tree(pid: int) -> list[psutil.Process]:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]

    def _cpu(self, pid: int) -> float:
        times = [process.cpu_times() for process in self._tree(pid)]
        return float(sum(t.user + t.system for t in times))

    def _rss(self, pid: int) -> int:
        return int(sum(process.memory_info().rss for process in self._tree(pid)))


def save(name: str, rows: list[dict[str, Any]]) -> Path:
    """Write the rows with the machine they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    machine = {"cpus": psutil.cpu_count(), "python": platform.python_version()}
    path.write_text(json.dumps({"at": time.time(), "machine": machine, "rows": rows}, indent=1))
    return path


def table(rows: list[dict[str, Any]], columns: list[str]) -> str:
    widths = [max(len(c), *(len(str(r.get(c, ""))) for r in rows)) for c in columns]
    lines = ["  ".join(c.rjust(w) for c, w in zip(columns, widths, strict=True))]
    for row in rows:
        cells = (str(row.get(c, "")).rjust(w) for c, w in zip(columns, widths, strict=True))
        lines.append("  ".join(cells))
    return "\n".join(lines)
