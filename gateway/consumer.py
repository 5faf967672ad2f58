"""The websocket door of a session."""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError

from accounts.choices import TokenScope
from gateway.actions import act
from gateway.api.parsing import read_json
from gateway.api.permissions import holds
from gateway.connections import ENDED, Connection, connections
from gateway.feed import Feed, Lagging, parse_after, private_event
from hermes_site.lib.database import in_database
from hermes_site.lib.errors import PortalError
from hermes_site.lib.ids import parse_id
from memory.models import Session

log = logging.getLogger(__name__)

# Close codes: 4400 bad request, 4401 not logged in, 4404 not yours, 4408 too slow, 4403 ended.
BAD, ANONYMOUS, NOT_FOUND, SLOW = 4400, 4401, 4404, 4408
MAX_FRAME = 1024 * 1024
# Frames of one client that may be under way at once.
MAX_ACTIONS = 8


class SessionConsumer(AsyncWebsocketConsumer):
    """Sends the session's events and takes the client's actions."""

    async def connect(self) -> None:
        user = self.scope.get("user")
        self.session_id = parse_id(self.scope["url_route"]["kwargs"]["session_id"])
        self._feed: asyncio.Task[None] | None = None
        self._connection: Connection | None = None
        self._acting: set[asyncio.Task[None]] = set()
        if user is None or not user.is_authenticated or not user.is_active:
            await self._refuse(ANONYMOUS)
            return
        self.user, self.token = user, self.scope.get("token")
        if not holds(self.token, TokenScope.READ):
            await self._refuse(ENDED)
            return
        try:
            query = parse_qs(self.scope.get("query_string", b"").decode())
            after = parse_after(query.get("after", [None])[0])
        except (ValueError, UnicodeDecodeError):
            await self._refuse(BAD)
            return
        if not await self._is_mine():
            await self._refuse(NOT_FOUND)
            return
        self._seq = after or 0
        await self.accept()
        self._connection = Connection(
            user_id=user.pk,
            token_id=self.token.pk if self.token else None,
            session_key=self.scope.get("session_key"),
            password=user.get_session_auth_hash(),
            close=self._end,
        )
        await connections().add(self._connection)
        self._feed = asyncio.create_task(self._forward(after), name="feed")

    async def _refuse(self, code: int) -> None:
        """Accept and close, so that the browser gets to see the code."""
        await self.accept()
        await self.close(code)

    async def _is_mine(self) -> bool:
        if self.session_id is None:
            return False
        mine = Session.objects.for_user(self.user).filter(pk=self.session_id)
        return await in_database(mine.exists)

    async def _forward(self, after: int | None) -> None:
        assert self.session_id is not None
        try:
            async for seq, event in Feed(self.user, self.session_id, after).events():
                self._seq = seq
                await self.send(text_data=event.decode())
        except Lagging:
            await self.close(SLOW)
        except PortalError:
            await self.close(NOT_FOUND)
        except DatabaseError:
            log.exception("feed_failed session=%s", self.session_id)
            await self.close(1013)
        except Exception:
            # A socket without a feed would look alive and say nothing.
            log.exception("feed_failed session=%s", self.session_id)
            await self.close(1011)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._connection is None:
            return  # refused, and being closed
        if text_data is None or len(text_data) > MAX_FRAME:
            await self._error("invalid", f"Send text frames of at most {MAX_FRAME:,} characters.")
            return
        if len(self._acting) >= MAX_ACTIONS:
            await self._error("busy", "Too many actions at once. Wait for their answers.")
            return
        task = asyncio.create_task(self._act(text_data))
        self._acting.add(task)
        task.add_done_callback(self._acting.discard)

    async def _act(self, text: str) -> None:
        reference: Any = None
        try:
            frame = read_json(text)
            if isinstance(frame, dict):
                reference = frame.get("ref") or frame.get("client_id")
            answer = await in_database(act, self.user, self.token, self.session_id, frame)
        except (ValueError, RecursionError) as error:
            await self._error("invalid", f"The frame is not JSON: {str(error)[:200]}")
        except PortalError as error:
            await self._error(error.code, error.message, {**error.extra, "ref": reference})
        except DatabaseError:
            log.exception("action_failed session=%s", self.session_id)
            await self._error("unavailable", "The database is away. Try again.", {"ref": reference})
        except Exception:
            log.exception("action_failed session=%s", self.session_id)
            await self._error("internal", "That failed on our side.", {"ref": reference})
        else:
            type = "pong" if isinstance(frame, dict) and frame.get("type") == "ping" else "ack"
            await self._answer(type, {**answer, "ref": reference})

    async def _error(self, code: str, message: str, extra: object = None) -> None:
        await self._answer("error", {"code": code, "message": message, "extra": extra or {}})

    async def _answer(self, type: str, data: dict[str, Any]) -> None:
        assert self.session_id is not None
        event = private_event(self.session_id, self._seq, type, data)
        await self.send(text_data=event.decode())

    async def _end(self, code: int) -> None:
        await self.close(code)

    async def disconnect(self, code: int) -> None:
        if self._feed:
            self._feed.cancel()
        if self._connection:
            await connections().remove(self._connection)


class NoSuchSocket(AsyncWebsocketConsumer):
    """Every other address: refused before the handshake."""

    async def connect(self) -> None:
        await self.close()
