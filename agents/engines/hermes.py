"""The default engine: every allowed tool, one prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.prompts import render
from agents.providers.base import ModelProfile
from tools.declare import Tool


class HermesEngine:
    name = "hermes"

    def system(self, *, facts: dict[str, Any], profile: ModelProfile) -> str:
        return render("hermes" if profile.tools else "small", facts)

    def tools(self, allowed: Sequence[Tool], *, profile: ModelProfile) -> list[Tool]:
        return list(allowed) if profile.tools else []


ENGINE = HermesEngine()
