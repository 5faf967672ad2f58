"""What a terminal backend is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ExecutionResult:
    """The outcome of one command. A failure is data: ``exit_code`` is None when it did not
    end by itself, ``error`` says why in words."""

    output: str
    exit_code: int | None = 0
    timed_out: bool = False
    truncated: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Health:
    """Whether the backend can be used at all, and the reason for an administrator."""

    ok: bool
    detail: str = ""


class Backend(ABC):
    """Runs commands for one user's workspace. Never raises for a command's own failure."""

    name: str

    @abstractmethod
    def execute(
        self,
        command: str,
        *,
        workspace: Path,
        cwd: str = ".",
        timeout: float = 30,
        env: dict[str, str] | None = None,
        stdin: str | None = None,
        on_output: Callable[[str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> ExecutionResult:
        """Run ``command`` with a shell in ``workspace/cwd``; ``timeout`` in seconds kills the
        whole process group. ``on_output`` gets decoded text as it comes."""

    @abstractmethod
    def health_check(self) -> Health:
        """Prove that the backend works and isolates; cached by the caller, not here."""
