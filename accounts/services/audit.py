"""Writing and checking the audit trail."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

import orjson
from django.db import connection, transaction

from accounts.models import AuditEntry
from hermes_site.lib import clock

GENESIS = "0" * 64
# The advisory lock under which PostgreSQL appends; SQLite has one writer anyway.
_LOCK = 0x4845524D


def audit_record(
    action: str,
    *,
    actor: Any = None,
    target: Any = "",
    via: str = "",
    data: dict[str, Any] | None = None,
) -> AuditEntry:
    """Append one entry, in the caller's transaction, so that act and entry stand or fall together.

    ``actor`` is a user (its e-mail is kept), a word such as ``system``, or None.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        last = AuditEntry.objects.order_by("-id").values_list("hash", flat=True).first()
        entry = AuditEntry(
            at=clock.now(),
            actor=str(getattr(actor, "email", actor) or "")[:254],
            action=action,
            target=str(target)[:254],
            via=via,
            data=orjson.loads(orjson.dumps(data or {}, default=str)),
            previous=last or GENESIS,
        )
        entry.hash = _digest(entry)
        entry.save(force_insert=True)
    return entry


def audit_verify() -> int | None:
    """Walk the chain; returns the id of the first entry that does not fit, or None."""
    previous = GENESIS
    for entry in AuditEntry.objects.order_by("id").iterator(chunk_size=1000):
        if entry.previous != previous or entry.hash != _digest(entry):
            return entry.pk
        previous = entry.hash
    return None


def _digest(entry: AuditEntry) -> str:
    at: datetime = entry.at
    content = [
        entry.previous,
        # Microseconds are kept by both databases; the offset is not.
        int(at.timestamp() * 1_000_000),
        entry.actor,
        entry.action,
        entry.target,
        entry.via,
        entry.data,
    ]
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
