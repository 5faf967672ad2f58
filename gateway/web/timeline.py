"""A conversation as the page shows it: messages with their calls and open questions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from django.utils.translation import gettext as _

from accounts.models import User
from agents.choices import RunState
from agents.models import Run
from gateway.web.markdown import render
from hermes_site.lib import clock
from hermes_site.lib.text import preview, visible
from memory.choices import Role
from memory.models import Message, Session
from tools.choices import OPEN
from tools.models import Approval, ToolCall
from tools.services.request import shown

# Messages of a page; older ones are fetched by a link.
PAGE = 50
# Settled calls in a row that fold into one line.
FOLD = 3
# Added to the position of a message that waits for its run; conversation.js knows it too.
WAITING = 2**52
ICONS = {"read": "eye", "write": "pen", "system": "terminal", "finance": "coin"}


@dataclass
class CallLine:
    """One tool call in words."""

    call: ToolCall
    approval: Approval | None

    @property
    def verb(self) -> str:
        verbs = {
            "read_file": _("Read"),
            "list_files": _("List"),
            "search_files": _("Search"),
            "write_file": _("Write"),
            "patch_file": _("Change"),
            "delete_file": _("Delete"),
            "shell": _("Run"),
            "todo": _("Plan"),
        }
        return str(verbs.get(self.call.name, self.call.name))

    @property
    def subject(self) -> str:
        arguments = self.call.arguments
        for name in ("command", "path", "pattern", "query", "text"):
            if isinstance(arguments.get(name), str):
                return visible(preview(arguments[name], 80))
        return ""

    @property
    def icon(self) -> str:
        return ICONS.get(self.call.category, "terminal")

    @property
    def arguments(self) -> str:
        return orjson.dumps(shown(self.call.arguments), option=orjson.OPT_INDENT_2).decode()

    @property
    def others(self) -> str:
        """The arguments beside the command, which the card shows by itself."""
        others = {k: v for k, v in self.call.arguments.items() if k != "command"}
        return orjson.dumps(shown(others), option=orjson.OPT_INDENT_2).decode() if others else ""

    @property
    def editable(self) -> str:
        """The exact arguments, for the person to change: what deceives the eye is escaped."""
        written = orjson.dumps(self.call.arguments, option=orjson.OPT_INDENT_2).decode()
        return "".join(c if visible(c) == c else json.dumps(c)[1:-1] for c in written)

    @property
    def seconds(self) -> float | None:
        call = self.call
        if call.started_at and call.finished_at:
            return round((call.finished_at - call.started_at).total_seconds(), 1)
        return None

    @property
    def door(self) -> str:
        """Where it was decided, in words."""
        doors = {
            "web": _("on the page"),
            "api": _("by API"),
            "websocket": _("by API"),
            "command": _("by a command"),
            "system": _("by the system"),
        }
        via = self.approval.via if self.approval else ""
        return str(doors.get(via, via))

    @property
    def seconds_left(self) -> int:
        return self._seconds_after(clock.now())

    @property
    def seconds_given(self) -> int:
        return self._seconds_after(self.approval.created_at) if self.approval else 0

    def _seconds_after(self, moment: datetime) -> int:
        return round((self.approval.expires_at - moment).total_seconds()) if self.approval else 0

    @property
    def pending(self) -> Approval | None:
        approval = self.approval
        return approval if approval and approval.decision is None else None


@dataclass
class Entry:
    """A message as the page shows it."""

    message: Message
    lines: list[CallLine] = field(default_factory=list)
    run: Run | None = None

    @property
    def html(self) -> str:
        return render(self.message.text)

    @property
    def mine(self) -> bool:
        return bool(self.message.role == Role.USER)

    @property
    def folded(self) -> bool:
        return len(self.lines) >= FOLD and not any(line.call.state in OPEN for line in self.lines)

    @property
    def place(self) -> int:
        """Its position on the page: what waits for its run comes behind all else."""
        return self.message.position + (0 if self.message.placed else WAITING)


def timeline(user: User, session: Session, *, before: int | None = None) -> list[Entry]:
    """The newest messages (or those before a position), oldest first, in four queries."""
    rows = Message.objects.for_user(user).filter(session=session, active=True)
    if before is not None:
        rows = rows.filter(position__lt=before)
    newest = rows.order_by("-position")[:PAGE]
    return sorted(entries(user, newest), key=lambda entry: entry.place)


def entries(user: User, messages: Iterable[Message]) -> list[Entry]:
    """``messages`` with their calls, questions and failed runs."""
    found = {message.pk: Entry(message) for message in messages}
    calls = ToolCall.objects.for_user(user).filter(message__in=list(found))
    approvals: dict[Any, Approval] = {
        approval.tool_call_id: approval
        for approval in Approval.objects.for_user(user)
        .filter(tool_call__message__in=list(found))
        .select_related("decided_by")
    }
    for call in calls.order_by("index"):
        found[call.message_id].lines.append(CallLine(call, approvals.get(call.pk)))
    runs = Run.objects.for_user(user).filter(message__in=list(found), state=RunState.FAILED)
    for run in runs:
        found[run.message_id].run = run
    return list(found.values())
