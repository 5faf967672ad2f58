"""``manage.py limit SCOPE ACTION RATE``: sets one rate or budget."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from accounts.choices import LimitAction
from accounts.services import limit_set
from gateway.management.command import ACTOR, PortalCommand


class Command(PortalCommand):
    help = "Set a limit, for example: limit user:anna@example.com message 1000/m"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("scope", help="everyone, group:NAME or user:EMAIL.")
        parser.add_argument("action", help=f"One of {', '.join(LimitAction.values)}.")
        parser.add_argument("rate", help="An amount and a window: 10/m, 200/h, 5000/d, 3/10s.")

    def handle(self, *args: Any, **options: Any) -> None:
        rule = limit_set(
            subject=options["scope"], action=options["action"], rate=options["rate"], actor=ACTOR
        )
        self.stdout.write(str(rule))
