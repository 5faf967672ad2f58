"""``manage.py doctor``: every part ok, warning or error, with the mend; exit code 1 on error."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandParser

from gateway.diagnosis import ERROR, OK, Finding, diagnose


class Command(BaseCommand):
    help = "Look at every dependency, setting and service, and say how to mend what is wrong."
    # Wrong settings are findings here, not a reason to stop.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="One JSON object a line.")

    def handle(self, *args: Any, **options: Any) -> None:
        failed = False
        for finding in diagnose():
            failed = failed or finding.state == ERROR
            if options["json"]:
                self.stdout.write(orjson.dumps(asdict(finding)).decode())
            else:
                self._say(finding)
        if failed:
            sys.exit(1)

    def _say(self, finding: Finding) -> None:
        paint = {OK: self.style.SUCCESS, ERROR: self.style.ERROR}.get(
            finding.state, self.style.WARNING
        )
        self.stdout.write(f"{paint(f'{finding.state:<8}')}{finding.subject:<20} {finding.detail}")
        if finding.mend:
            self.stdout.write(f"{'':<8}{'':<20} → {finding.mend}")
