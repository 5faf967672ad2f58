"""``manage.py create_token EMAIL [--scopes …] [--days N]``: prints the token and nothing else."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.choices import TokenScope
from accounts.services import token_create
from gateway.management.command import PortalCommand
from gateway.selectors.people import person


class Command(PortalCommand):
    help = "Make a personal API token and print it, this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument(
            "--scopes",
            nargs="+",
            default=[],
            help=f"Some of {', '.join(TokenScope.values)}; without it, all.",
        )
        parser.add_argument("--days", type=int, help="Without it, the token does not expire.")
        parser.add_argument("--name", default="command line")

    def handle(self, *args: Any, **options: Any) -> None:
        user = person(options["email"])
        if not user.is_active:
            raise CommandError(f"{user.email} is disabled, so the token would not work.")
        scopes = [s for words in options["scopes"] for s in words.split(",") if s]
        _, secret = token_create(
            user, name=options["name"], scopes=scopes or None, days=options["days"], via="command"
        )
        self.stdout.write(secret)
