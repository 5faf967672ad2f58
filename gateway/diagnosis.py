"""Is everything there and well? Every dependency, setting and service, each with its mend."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.core import checks
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from redis.exceptions import RedisError

from accounts.models import User
from accounts.services import audit_verify
from agents.accounts import choose
from agents.registry import ENGINES, PROVIDERS
from gateway.registry import PLATFORMS
from hermes_site.lib import env
from hermes_site.lib.alive import KINDS, alive
from hermes_site.lib.errors import PortalError
from hermes_site.lib.redis import client
from hermes_site.services import readiness, valkey
from tools.registry import BACKENDS, TOOLS

OK, WARNING, ERROR = "ok", "warning", "error"
PYTHONS = ((3, 11), (3, 13))
# Bytes that should be free below HERMES_HOME.
ROOM = 500 * 1024 * 1024


@dataclass(frozen=True)
class Finding:
    """``state`` is ok, warning or error; ``mend`` says what to do, unless it is ok."""

    subject: str
    state: str
    detail: str
    mend: str = ""


def diagnose() -> Iterator[Finding]:
    """Look at one thing after the other; a look that fails is a finding, not an end."""
    for name, look in LOOKS.items():
        try:
            yield from look()
        except DatabaseError as error:
            yield Finding(name, ERROR, _line(error), "Mend the database first.")
        except Exception as error:
            yield Finding(name, ERROR, f"{type(error).__name__}: {_line(error)}", "See the log.")


def portal_runs() -> bool:
    """Whether ``up`` holds this HERMES_HOME; only then must its services answer."""
    try:
        descriptor = os.open(settings.HERMES_HOME / "run" / "up.lock", os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _python() -> Iterator[Finding]:
    version, (low, high) = sys.version_info[:2], PYTHONS
    shown = ".".join(map(str, sys.version_info[:3]))
    if low <= version <= high:
        yield Finding("python", OK, shown)
    else:
        wanted = f"{low[0]}.{low[1]} to {high[0]}.{high[1]}"
        yield Finding("python", WARNING, shown, f"Use Python {wanted}.")


def _settings() -> Iterator[Finding]:
    found = checks.run_checks(include_deployment_checks=settings.SECURE)
    for message in sorted(found, key=lambda message: -message.level):
        if message.level >= checks.WARNING and not message.is_silenced():
            state = ERROR if message.is_serious() else WARNING
            yield Finding(f"settings {message.id}", state, _line(message.msg), message.hint or "")
    if not any(message.is_serious() for message in found):
        yield Finding("settings", OK, f"{settings.HERMES_PUBLIC_URL}, DEBUG {settings.DEBUG}")
    if settings.SECURE and not settings.HERMES_TRUST_PROXY:
        yield Finding(
            "settings proxy",
            WARNING,
            "The public address is https, and X-Forwarded-Proto of the proxy is not believed.",
            "Set HERMES_TRUST_PROXY=1 when a proxy of yours ends TLS and sets that header.",
        )


def _home() -> Iterator[Finding]:
    home = settings.HERMES_HOME
    probe = home / "run" / f"doctor.{os.getpid()}"
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.write_text("x")
        probe.unlink()
    except OSError as error:
        mend = "Give this account the folder, or set HERMES_HOME to another."
        yield Finding("home", ERROR, f"{home} cannot be written: {error.strerror}", mend)
        return
    free = shutil.disk_usage(home).free
    detail = f"{home}, {free / 1024**3:.1f} GB free"
    if free < ROOM:
        yield Finding("home", WARNING, detail, "Make room: uploads and the database need it.")
    else:
        yield Finding("home", OK, detail)


def _database() -> Iterator[Finding]:
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        yield Finding("database", ERROR, _line(error), "Start it, or mend DATABASE_URL.")
        return
    version = ".".join(map(str, connection.get_database_version()))
    yield Finding("database", OK, f"{connection.display_name} {version}")
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        names = ", ".join(f"{migration.app_label}.{migration.name}" for migration, _ in waiting[:5])
        detail = f"{len(waiting)} not applied: {names}"
        yield Finding("migrations", ERROR, detail, "Run manage.py migrate.")
    else:
        yield Finding("migrations", OK, "all applied")


def _redis() -> Iterator[Finding]:
    embedded = valkey.embedded_url(settings.HERMES_HOME) == settings.REDIS_URL
    try:
        info = client().info()
    except RedisError as error:
        if embedded and not portal_runs():
            yield Finding("redis", WARNING, "embedded, not running", "Start the portal: make up.")
        else:
            mend = "Restart the portal." if embedded else "Start it, or mend REDIS_URL."
            yield Finding("redis", ERROR, _line(error), mend)
        return
    version = info.get("valkey_version") or info.get("redis_version", "?")
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        mend = "Set maxmemory-policy noeviction: limits and live text must not be dropped."
        yield Finding("redis", WARNING, f"{version}, maxmemory-policy {policy}", mend)
    else:
        yield Finding("redis", OK, f"{version}{', embedded' if embedded else ''}")


def _workers() -> Iterator[Finding]:
    try:
        living = alive()
    except RedisError:
        living = dict.fromkeys(KINDS, False)
    state = ERROR if portal_runs() or any(living.values()) else WARNING
    for kind, lives in living.items():
        if lives:
            yield Finding(f"worker {kind}", OK, "alive")
        else:
            mend = f"Start the portal: make up, or a worker of the queue {kind}."
            yield Finding(f"worker {kind}", state, "no sign of life", mend)


def _web() -> Iterator[Finding]:
    if not portal_runs():
        yield Finding("web", WARNING, "not running here", "Start the portal: make up.")
        return
    host, port = settings.HERMES_HOST, settings.HERMES_PORT
    if readiness.is_ready(host, port, settings.HERMES_PUBLIC_URL):
        yield Finding("web", OK, f"{settings.HERMES_PUBLIC_URL} is ready")
    else:
        detail = f"{host}:{port}/readyz does not say that it is ready"
        yield Finding("web", ERROR, detail, f"See {settings.HERMES_HOME / 'logs' / 'web.log'}.")


def _sandbox() -> Iterator[Finding]:
    backend = BACKENDS.get("local")
    if backend is None:
        yield Finding("sandbox", ERROR, "the local backend is missing", "See the plug-ins below.")
        return
    health = backend.health_check()
    if health.ok:
        yield Finding("sandbox", OK, health.detail or "isolates")
    else:
        mend = "Shell and code tools stay off until this is mended (docs/security.md)."
        yield Finding("sandbox", ERROR, health.detail, mend)


def _model() -> Iterator[Finding]:
    mend = "Set OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY or OPENROUTER_API_KEY."
    try:
        choice = choose()
    except PortalError as error:
        state = ERROR if portal_runs() else WARNING
        yield Finding("model", state, _line(error), mend)
        return
    if choice.account.name == "offline":
        yield Finding("model", WARNING, f"{choice.label}: small, without tools", mend)
    else:
        yield Finding("model", OK, choice.label)


def _plugins() -> Iterator[Finding]:
    for registry in (TOOLS, BACKENDS, PROVIDERS, ENGINES, PLATFORMS):
        names = sorted(registry.all())
        yield Finding(f"{registry.kind}s", OK, ", ".join(names) or "none")
        for source, why in registry.broken.items():
            yield Finding(f"{registry.kind} {source}", ERROR, why, "Mend or remove the plug-in.")


def _audit() -> Iterator[Finding]:
    broken = audit_verify()
    if broken is None:
        yield Finding("audit", OK, "the chain holds")
    else:
        mend = "Somebody changed the table. Compare it with a backup."
        yield Finding("audit", ERROR, f"entry {broken} does not fit the chain", mend)


def _people() -> Iterator[Finding]:
    if User.objects.filter(is_superuser=True, is_active=True).exists():
        yield Finding("administrator", OK, "there is one")
    else:
        mend = "Run manage.py create_user EMAIL --password … --admin."
        yield Finding("administrator", WARNING, "there is none", mend)
    if env.source("EMAIL_URL"):
        yield Finding("mail", OK, f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}")
    else:
        mend = "Set EMAIL_URL, so that invitations and resets reach people."
        yield Finding("mail", WARNING, "mails are written to the log", mend)


LOOKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "python": _python,
    "settings": _settings,
    "home": _home,
    "database": _database,
    "redis": _redis,
    "workers": _workers,
    "web": _web,
    "sandbox": _sandbox,
    "model": _model,
    "plug-ins": _plugins,
    "audit": _audit,
    "people": _people,
}


def _line(text: object) -> str:
    return " ".join(str(text).split())[:300]
