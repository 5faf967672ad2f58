"""Identifiers: UUIDv7, so that ids sort by the time they were made (RFC 9562)."""

from __future__ import annotations

from functools import lru_cache
from uuid import UUID

import uuid_utils.compat


def new_id() -> UUID:
    return uuid_utils.compat.uuid7()


@lru_cache(8192)
def id_text(id: UUID | str) -> str:
    """``str(id)``, remembered: a stream names the same few ids with every token."""
    return str(id)


def parse_id(value: object) -> UUID | None:
    """The UUID in ``value``, or None when it is not one."""
    try:
        return value if isinstance(value, UUID) else UUID(str(value))
    except ValueError:
        return None
