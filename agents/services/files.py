"""Files that come with a message: put where the agent's tools can read them."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings

from accounts.models import User
from hermes_site.lib.errors import ModelRecoverable, UserFacing
from memory.models import Attachment
from memory.services.attachment import attachment_path
from tools.workspace import Workspace, workspace_for

MAX_FILES = 20
FOLDER = "uploads"
_UNSAFE = re.compile(r"[^\w.\- ]+")


def files_place(user: User, ids: list[Any]) -> list[dict[str, Any]]:
    """Copy attachments of ``user`` into the workspace; returns ``{id, name, path, size}`` each.

    Raises ``NotFound`` for anybody else's and ``UserFacing`` for too many or too large ones.
    """
    if len(ids) > MAX_FILES:
        raise UserFacing(f"{len(ids)} files are too many for a message; at most {MAX_FILES}.")
    kept = [Attachment.objects.for_user(user).fetch(id) for id in ids]
    return [_place(user, attachment) for attachment in kept]


def _place(user: User, attachment: Attachment) -> dict[str, Any]:
    workspace = Workspace(workspace_for(settings.HERMES_HOME, user.pk))
    # The id keeps two files of one name apart, and the name means nothing to the file system.
    name = _UNSAFE.sub("_", attachment.name).strip(" .-") or "file"
    path = str(PurePosixPath(FOLDER) / attachment.pk.hex[-8:] / name[-100:])
    try:
        workspace.write(path, attachment_path(attachment.pk).read_bytes())
    except ModelRecoverable as error:
        raise UserFacing(f"{attachment.name!r}: {error.message}", code="too_large") from error
    return {
        "id": str(attachment.pk),
        "name": attachment.name,
        "path": path,
        "size": attachment.size,
    }
