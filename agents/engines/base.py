"""What an engine is: the prompt, and which of the allowed tools it offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from agents.providers.base import ModelProfile
from tools.declare import Tool


class Engine(Protocol):
    """Stateless; one instance serves all runs."""

    name: str

    def system(self, *, facts: dict[str, Any], profile: ModelProfile) -> str:
        """The system prompt, byte-stable for the same facts, so that provider caches hold."""

    def tools(self, allowed: Sequence[Tool], *, profile: ModelProfile) -> list[Tool]:
        """The tools to offer, in a stable order."""
