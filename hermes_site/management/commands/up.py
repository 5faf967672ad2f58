"""`manage.py up`: the whole portal in one terminal."""

from __future__ import annotations

import contextlib
import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import OperationalError, connections

from accounts.services import first_admin_ensure
from hermes_site.lib import env
from hermes_site.lib.errors import ConfigError, PortalError
from hermes_site.services import kernel, readiness
from hermes_site.services.forked import preload
from hermes_site.services.found_models import remember
from hermes_site.services.home_lock import HomeLock
from hermes_site.services.local_models import find_local_models
from hermes_site.services.processes import Options, table
from hermes_site.services.supervisor import Supervisor, guarded
from hermes_site.services.valkey import embedded_url


class Command(BaseCommand):
    help = "Migrate, make the first administrator, and run every process until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--tied", action="store_true", help="Also stop when the calling process ends."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["tied"]:
            kernel.die_with_parent(os.getppid())
        age = kernel.age()
        sys.exit(guarded(lambda: self._inner(age)))

    def _inner(self, age: float) -> int:
        """The part that runs below the guard; ``age`` is what the imports took, in seconds."""
        try:
            self._run(age)
        except PortalError as error:
            self.stderr.write(self.style.ERROR(error.message))
            return 1
        return 0

    def _run(self, age: float) -> None:
        lock = HomeLock(settings.HERMES_HOME)
        lock.take(os.getppid())
        readiness.require_free_port(settings.HERMES_HOST, settings.HERMES_PORT)
        self._migrate()
        welcome = self._first_admin()
        supervisor = Supervisor(table(), self._options(), say=self._say)
        connections.close_all()
        preload()

        def on_ready() -> None:
            seconds = age + kernel.age()
            self._say(f"Ready in {seconds:.1f} s: {settings.HERMES_PUBLIC_URL}")
            self._say(f"{welcome}\nCtrl-C stops everything. Logs: {settings.HERMES_HOME / 'logs'}")

        owner = os.getppid()
        supervisor.run(ready=self._ready, on_ready=on_ready, on_stop=lambda: lock.stopping(owner))

    def _migrate(self) -> None:
        try:
            call_command("migrate", interactive=False, verbosity=0)
        except OperationalError as error:
            raise ConfigError(
                f"The database cannot be used: {error}. Mend it, or set DATABASE_URL."
            ) from error

    def _first_admin(self) -> str:
        """Make the first administrator where there is none, and say how to log in."""
        email = env.text("HERMES_ADMIN_EMAIL", "admin@localhost.localdomain")
        user, generated = first_admin_ensure(
            email=email, password=env.text("HERMES_ADMIN_PASSWORD") or None
        )
        shown = f", password {generated} (shown this once)" if generated else ""
        return f"Administrator: {user.email}{shown}"

    def _options(self) -> Options:
        home = settings.HERMES_HOME
        providers = readiness.provider_settings()
        local = [] if providers else find_local_models(skip_port=settings.HERMES_PORT)
        remember(home, local)
        for server in local:
            self._say(f"Found {server.name} at {server.base_url}: {', '.join(server.models)}")
        return Options(
            home=home,
            host=settings.HERMES_HOST,
            port=settings.HERMES_PORT,
            server=settings.HERMES_SERVER,
            embedded_valkey=embedded_url(home) == settings.REDIS_URL,
            offline_model=readiness.offline_wanted(
                providers=bool(providers), local_servers=bool(local)
            ),
        )

    def _ready(self) -> bool:
        return readiness.is_ready(
            settings.HERMES_HOST, settings.HERMES_PORT, settings.HERMES_PUBLIC_URL
        )

    def _say(self, line: str) -> None:
        # The terminal may be gone, which must not keep the processes from being stopped.
        with contextlib.suppress(OSError):
            self.stdout.write(line)
            self.stdout.flush()
