"""Small tables that hot paths read all the time, kept for a second per process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """What ``load`` gave at most ``seconds`` ago. Only for what may be a moment old: a decision
    about a call is never made from it."""

    def __init__(self, load: Callable[[], T], *, seconds: float = 1.0) -> None:
        self._load, self._seconds = load, seconds
        self._kept: tuple[float, T] | None = None

    def get(self) -> T:
        kept = self._kept
        if kept is None or time.monotonic() - kept[0] > self._seconds:
            # Two threads may load at once; both get the truth of this moment.
            kept = self._kept = (time.monotonic(), self._load())
        return kept[1]

    def clear(self) -> None:
        """Forget: this process has just changed the table."""
        self._kept = None
