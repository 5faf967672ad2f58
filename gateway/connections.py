"""The open sockets of this web process, and ending those whose user may no longer be here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.contrib.sessions.models import Session as BrowserSession
from django.db import DatabaseError
from django.db.models import Q
from django.utils.crypto import constant_time_compare

from accounts.models import ApiToken, User
from hermes_site.lib import clock
from hermes_site.lib.database import in_database

log = logging.getLogger(__name__)

# Seconds between looks at who may stay: the mark is 5 s (P18).
EVERY = 2.0
ENDED = 4403


@dataclass(eq=False)
class Connection:
    """One socket: by token, or by browser session. ``password`` is the login's proof that the
    password is still the same: it ends the sockets of other browsers as it ends their logins."""

    user_id: UUID
    token_id: UUID | None
    session_key: str | None
    password: str
    close: Callable[[int], Awaitable[None]]


class Connections:
    """All of a process, checked together: three queries however many there are."""

    def __init__(self) -> None:
        self._open: set[Connection] = set()
        self._task: asyncio.Task[None] | None = None

    async def add(self, connection: Connection) -> None:
        self._open.add(connection)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch(), name="connections")

    async def remove(self, connection: Connection) -> None:
        self._open.discard(connection)

    async def _watch(self) -> None:
        while self._open:
            await asyncio.sleep(EVERY)
            checked = list(self._open)
            try:
                allowed = await in_database(_allowed, checked)
            except DatabaseError:
                log.exception("connections_unchecked open=%d", len(checked))
                continue
            for connection in checked:
                if connection not in allowed:
                    self._open.discard(connection)
                    await connection.close(ENDED)


@cache
def connections() -> Connections:
    return Connections()


def _allowed(checked: list[Connection]) -> set[Connection]:
    now = clock.now()
    users = {
        user.pk: user.get_session_auth_hash()
        for user in User.objects.filter(is_active=True, pk__in={c.user_id for c in checked})
    }
    tokens = _pks(
        ApiToken.objects.filter(
            Q(expires_at=None) | Q(expires_at__gt=now),
            revoked_at=None,
            pk__in={c.token_id for c in checked if c.token_id},
        )
    )
    sessions = _pks(
        BrowserSession.objects.filter(
            expire_date__gt=now, pk__in={c.session_key for c in checked if c.session_key}
        )
    )
    return {
        c
        for c in checked
        if c.user_id in users
        and (c.token_id in tokens if c.token_id else _logged_in(c, users, sessions))
    }


def _logged_in(connection: Connection, users: dict[UUID, str], sessions: set[Any]) -> bool:
    same = constant_time_compare(connection.password, users[connection.user_id])
    return same and connection.session_key in sessions


def _pks(queryset: Any) -> set[Any]:
    return set(queryset.values_list("pk", flat=True))
