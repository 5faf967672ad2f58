"""``manage.py rule SCOPE TOOL OUTCOME``: sets what the policy says of a tool."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from gateway.management.command import ACTOR, PortalCommand
from tools.choices import Outcome
from tools.services.rule import rule_set


class Command(PortalCommand):
    help = "Set a tool rule, for example: rule group:Ops shell confirm"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("scope", help="everyone, group:NAME or user:EMAIL.")
        parser.add_argument("tool", help="A name; * stands for any run of characters.")
        parser.add_argument("outcome", help=f"One of {', '.join(Outcome.values)}.")
        parser.add_argument("--argument", default="", help="Only for calls with this argument …")
        parser.add_argument("--matches", default="", help="… that matches this, * as above.")
        parser.add_argument("--note", default="", help="Why; shown on the card.")

    def handle(self, *args: Any, **options: Any) -> None:
        rule, known = rule_set(
            subject=options["scope"],
            tool=options["tool"],
            outcome=options["outcome"],
            argument=options["argument"],
            pattern=options["matches"],
            note=options["note"],
            actor=ACTOR,
        )
        self.stdout.write(str(rule))
        if not known:
            self.stderr.write(self.style.WARNING(f"No tool fits {rule.tool!r} now."))
