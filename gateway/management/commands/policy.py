"""``manage.py policy explain EMAIL TOOL [JSON|-] [--json]``: what the policy says, and why."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import orjson
from django.core.management.base import CommandParser

from accounts.models import User
from gateway.management.command import PortalCommand
from gateway.selectors.people import person
from hermes_site.lib.errors import ModelRecoverable
from memory.choices import Mode
from tools.arguments import validate
from tools.choices import Category, Outcome
from tools.declare import Tool
from tools.policy import PolicyRows
from tools.registry import TOOLS
from tools.selectors.policy import decide, policy_rows


class Command(PortalCommand):
    help = "Explain the policy: one line per call."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        explain = actions.add_parser("explain", help="What happens when this user calls this tool.")
        explain.add_argument("email")
        explain.add_argument("tool")
        explain.add_argument(
            "arguments",
            nargs="?",
            metavar="JSON | -",
            help="The call's arguments; - reads one JSON object a line. Without it, the tool as "
            "such is judged.",
        )
        explain.add_argument("--door", default="web", help="web, api, telegram, schedule …")
        explain.add_argument("--mode", default=Mode.CODE, choices=Mode.values)
        explain.add_argument(
            "--json", action="store_true", help="JSON on a terminal too; elsewhere it always is."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = person(options["email"])
        judge = Judge(user, options["tool"], options["door"], options["mode"])
        as_json = options["json"] or not self.stdout.isatty()
        for text in _calls(options["arguments"]):
            found = judge.call(text)
            line = orjson.dumps(found).decode() if as_json else _words(found)
            self.stdout.write(line)
            self.stdout.flush()


class Judge:
    """The policy of one user for one tool, loaded once for many calls."""

    def __init__(self, user: User, tool: str, surface: str, mode: str) -> None:
        self.user, self.name, self.surface, self.mode = user, tool, surface, mode
        self.tool: Tool | None = TOOLS.get(tool)
        self.rows: PolicyRows = policy_rows(user)

    def call(self, text: str | bytes | None) -> dict[str, str]:
        """``{"outcome", "category", "why"}``; what could not run at all is refused."""
        if self.tool is None:
            return _refused(Category.SYSTEM, f"There is no tool named {self.name[:64]!r}.")
        if not self.user.is_active:
            return _refused(self.tool.category, f"{self.user.email} is disabled.")
        try:
            arguments = {} if text is None else validate(self.tool, orjson.loads(text))
        except orjson.JSONDecodeError as error:
            return _refused(self.tool.category, f"The arguments are not JSON: {error}")
        except ModelRecoverable as error:
            return _refused(self.tool.category, error.message)
        decision, facts = decide(
            self.user,
            self.tool,
            arguments,
            surface=self.surface,
            mode=self.mode,
            rows=self.rows,
        )
        return {
            "outcome": str(decision.outcome),
            "category": facts.category,
            "why": decision.why,
        }


def _calls(given: str | None) -> Iterable[str | bytes | None]:
    """The argument texts to judge: one, the lines of stdin, or None for the tool as such."""
    if given != "-":
        yield given
        return
    for line in sys.stdin.buffer:
        if line.strip():
            yield line


def _refused(category: str, why: str) -> dict[str, str]:
    return {"outcome": str(Outcome.DENY), "category": str(category), "why": why}


def _words(found: dict[str, str]) -> str:
    return f"{found['outcome']} ({found['category']}): {' '.join(found['why'].split())}"
