"""Storing files: by id, below HERMES_HOME, never by the name they came with."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from django.conf import settings

from accounts.models import User
from hermes_site.lib.errors import UserFacing
from hermes_site.lib.ids import new_id
from hermes_site.lib.text import clean
from memory.models import Attachment

_CHUNK = 64 * 1024


def attachment_path(id: UUID) -> Path:
    """Where the bytes are; two levels of folders keep each one small."""
    name = id.hex
    return Path(settings.HERMES_HOME) / "files" / name[-4:-2] / name[-2:] / name


def attachment_create(
    user: User,
    *,
    name: str,
    source: BinaryIO | Any,
    content_type: str = "",
    session_id: UUID | None = None,
) -> Attachment:
    """Keep what ``source`` reads, up to ``HERMES_MAX_UPLOAD`` bytes; over it nothing stays.

    Raises ``UserFacing`` (413) that names the limit.
    """
    id, digest, size = new_id(), hashlib.sha256(), 0
    path = attachment_path(id)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    try:
        with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as target:
            while chunk := source.read(_CHUNK):
                size += len(chunk)
                if size > settings.HERMES_MAX_UPLOAD:
                    raise UserFacing(
                        f"The file is larger than {settings.HERMES_MAX_UPLOAD:,} bytes.",
                        code="too_large",
                        status=413,
                    )
                digest.update(chunk)
                target.write(chunk)
            target.flush()
            os.fsync(target.fileno())
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return Attachment.objects.create(
        id=id,
        user=user,
        session_id=session_id,
        name=clean(name).replace("/", "_").replace("\\", "_").strip()[:255] or "file",
        content_type=content_type[:100] or "application/octet-stream",
        size=size,
        sha256=digest.hexdigest(),
    )


def attachments_forget(ids: list[UUID]) -> None:
    """Remove the bytes of attachments whose rows are gone."""
    for id in ids:
        attachment_path(id).unlink(missing_ok=True)


def attachment_from_text(user: User, *, name: str, text: str, session_id: UUID) -> Attachment:
    """Keep a large result whole."""
    return attachment_create(
        user,
        name=name,
        source=io.BytesIO(text.encode()),
        content_type="text/plain; charset=utf-8",
        session_id=session_id,
    )
