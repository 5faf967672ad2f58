"""``manage.py create_user EMAIL [--password P] [--level L] [--admin]``."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from accounts.choices import Level
from accounts.services import user_create
from gateway.management.command import ACTOR, PortalCommand


class Command(PortalCommand):
    help = "Make a user. Without a password they come in by single sign-on or a reset link."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--password")
        parser.add_argument("--name", default="")
        parser.add_argument(
            "--level", default="", help=f"{', '.join(Level.values)}; without it, the groups' level."
        )
        parser.add_argument("--admin", action="store_true", help="May use the admin pages.")

    def handle(self, *args: Any, **options: Any) -> None:
        user = user_create(
            email=options["email"],
            password=options["password"],
            level=options["level"],
            admin=options["admin"],
            name=options["name"],
            actor=ACTOR,
        )
        self.stdout.write(f"Created {user.email}.")
