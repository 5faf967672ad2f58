"""What the portal's commands share: its errors as one line on stderr and exit code 1."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from hermes_site.lib.errors import PortalError

# Who acted, in the audit trail.
ACTOR = "command line"


class PortalCommand(BaseCommand):
    """A command is a door: it parses, calls one service, and prints."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except PortalError as error:
            raise CommandError(error.message) from error
