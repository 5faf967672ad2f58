"""The shell gate: judges a command by its parse, before policy decides."""

from tools.gate.judge import Verdict, judge
from tools.gate.patterns import compile_pattern
from tools.gate.repository import PlainRepositories, settings_are_plain
from tools.gate.rules import DEFAULT_RULES, GateRules

__all__ = [
    "DEFAULT_RULES",
    "GateRules",
    "PlainRepositories",
    "Verdict",
    "compile_pattern",
    "judge",
    "settings_are_plain",
]
