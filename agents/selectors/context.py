"""What the model is shown: prompt, tools and as much of the history as fits."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson
from django.db.models import QuerySet

from agents.accounts import ModelChoice, choose
from agents.engines.base import Engine
from agents.models import Run
from agents.providers.base import ChatMessage, ModelRequest, ToolCallPart, ToolResultPart
from agents.registry import ENGINES
from hermes_site.lib.errors import ConfigError
from hermes_site.lib.select import Select
from memory.choices import MessageState, Role
from memory.models import Message
from tools.choices import OPEN, CallState
from tools.models import ToolCall
from tools.selectors.policy import tools_for

# Messages looked at; what does not fit the model's window is left out from the oldest on.
MAX_MESSAGES = 400
_FAILED = (CallState.FAILED, CallState.UNKNOWN)


def request_for(run: Run) -> tuple[ModelChoice, ModelRequest]:
    """The model and the request of a run's next turn. Raises ``ConfigError``, ``UserFacing``."""
    choice, engine = choose(run.model), engine_of(run)
    offered = []
    if choice.profile.tools:
        allowed = tools_for(run.user, surface=run.surface, mode=run.mode)
        offered = engine.tools([tool for tool, _ in allowed], profile=choice.profile)
    tools = tuple(tool.schema() for tool in offered)
    facts = {"user_name": run.user.get_short_name()}
    system = engine.system(facts=facts, profile=choice.profile)
    reserve = choice.profile.max_output or min(4096, choice.profile.context // 4)
    budget = choice.profile.context - reserve - estimate(system) - estimate(orjson.dumps(tools))
    return choice, ModelRequest(
        model=choice.model,
        system=system,
        messages=tuple(fit(history(run), budget)),
        tools=tools,
        max_output=choice.profile.max_output,
    )


def engine_of(run: Run) -> Engine:
    engine = ENGINES.get(run.engine)
    if engine is None:
        raise ConfigError(
            f"There is no engine {run.engine!r}. Use one of: {', '.join(ENGINES.all())}.",
            code="unknown_engine",
        )
    return engine


def _shown(session_id: UUID) -> QuerySet[Message]:
    """The active branch, newest first."""
    return Message.objects.filter(
        session_id=session_id,
        active=True,
        placed=True,
        state__in=[MessageState.COMPLETED, MessageState.INTERRUPTED],
    ).order_by("-position")[:MAX_MESSAGES]


_newest = Select(_shown)
_calls = Select(
    lambda session_id: ToolCall.objects.filter(
        message__in=_shown(session_id).values("pk")
    ).order_by("index")
)


def history(run: Run) -> list[ChatMessage]:
    """The active branch up to the run, oldest first; every call stands with its result."""
    rows = _newest(run.session_id)[::-1]
    answered = any(row.role == Role.ASSISTANT for row in rows)
    calls: dict[object, list[ToolCall]] = {}
    for call in _calls(run.session_id) if answered else ():
        calls.setdefault(call.message_id, []).append(call)
    messages = [_message(row, calls.get(row.pk, [])) for row in rows]
    return [m for m in messages if m.content or m.calls]


def _message(row: Message, calls: list[ToolCall]) -> ChatMessage:
    if row.role != Role.ASSISTANT:
        return ChatMessage(Role.USER, row.text + files_note(row.metadata.get("files") or []))
    return ChatMessage(
        Role.ASSISTANT,
        row.text,
        calls=tuple(ToolCallPart(str(c.provider_id), c.name, c.arguments) for c in calls),
        results=tuple(
            ToolResultPart(str(c.provider_id), c.name, _result(c), c.state in _FAILED)
            for c in calls
        ),
    )


def files_note(files: list[dict[str, Any]]) -> str:
    """What the model is told of the files of a message."""
    if not files:
        return ""
    lines = [f"- {file['path']} ({file['size']:,} bytes)" for file in files]
    return "\n\n[Files that the user attached, in the workspace:\n" + "\n".join(lines) + "]"


def _result(call: ToolCall) -> str:
    if call.state in OPEN:
        return "This call has no result yet."
    return call.result or "(no output)"


def fit(messages: list[ChatMessage], budget: int) -> list[ChatMessage]:
    """The newest messages whose estimated tokens stay below ``budget``, beginning with a user
    message; the last user message and what follows it are always kept."""
    users = [i for i, message in enumerate(messages) if message.role == Role.USER]
    if not users:
        return messages
    start, used = users[-1], sum(map(_tokens, messages[users[-1] :]))
    for index in reversed(range(users[-1])):
        used += _tokens(messages[index])
        if used > budget:
            break
        if messages[index].role == Role.USER:
            start = index
    return messages[start:]


def _tokens(message: ChatMessage) -> int:
    calls = sum(estimate(orjson.dumps(call.arguments)) + 20 for call in message.calls)
    return estimate(message.content) + calls + sum(estimate(r.content) for r in message.results) + 8


def estimate(text: str | bytes) -> int:
    """Tokens of ``text``, rather too many: three bytes each, which suits English and Chinese."""
    return len(text.encode() if isinstance(text, str) else text) // 3 + 1
