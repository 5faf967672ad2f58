"""What a model provider is: a request in, a stream of small facts out.

The loop knows only these classes. A provider owns its wire format, its SDK client and the
mapping of its errors to ``ModelError``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ToolCallPart:
    """A tool call as the model asked for it. ``error`` is set when its arguments could not be
    read; it then goes back to the model instead of running. ``repaired`` when its JSON had to
    be mended."""

    id: str
    name: str
    arguments: dict[str, Any]
    error: str | None = None
    repaired: bool = False


@dataclass(frozen=True)
class ToolResultPart:
    """The observation for the call ``id``."""

    id: str
    name: str
    content: str
    is_error: bool = False


@dataclass(frozen=True)
class ChatMessage:
    """One message of the history: user, or assistant with its calls and their results.

    ``results`` belong to the ``calls`` of the same message, in the same order; the provider
    lays them out as its API wants them.
    """

    role: str
    content: str = ""
    calls: tuple[ToolCallPart, ...] = ()
    results: tuple[ToolResultPart, ...] = ()


@dataclass(frozen=True)
class ModelProfile:
    """Facts about a model: ``context`` and ``max_output`` in tokens; without ``tools`` none are
    offered to it."""

    context: int = 128_000
    max_output: int | None = None
    tools: bool = True


@dataclass(frozen=True)
class ModelRequest:
    """One model call. ``tools`` are ``Tool.schema()`` dicts in a stable order."""

    model: str
    system: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[dict[str, Any], ...] = ()
    max_output: int | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A fragment of a call. ``key`` tells calls of one answer apart (the API's index, or the id
    where indexes repeat); ``id`` and ``name`` come once, ``arguments`` is JSON text in pieces."""

    key: str
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call; later reports replace earlier ones."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of the answer: ``stop``, ``tool_calls``, ``length`` or ``refusal``. A stream that
    ends without one was cut."""

    reason: str


Part = TextDelta | ReasoningDelta | ToolCallDelta | Usage | Finish


class ModelError(Exception):
    """A model call failed. ``code`` is stable (``auth``, ``rate_limited``, ``overloaded``,
    ``timeout``, ``unreachable``, ``cut``, ``context_overflow``, ``bad_request``, ``empty``,
    ``not_found``); ``retry`` says whether the same call may succeed later; ``retry_after`` is
    in seconds. ``message`` is for the person and holds no key."""

    def __init__(
        self, code: str, message: str, *, retry: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.retry, self.retry_after = code, message, retry, retry_after


@dataclass(frozen=True)
class Account:
    """One configured provider: ``name`` as in ``name/model``, ``kind`` of wire format."""

    name: str
    kind: str
    api_key: str = field(default="", repr=False)
    base_url: str = ""
    profile: ModelProfile | None = None


class Provider(ABC):
    """Talks to one account's API from one event loop, over kept-alive connections."""

    kind: str

    def __init__(self, account: Account) -> None:
        self.account = account

    @abstractmethod
    def stream(self, request: ModelRequest) -> AsyncGenerator[Part, None]:
        """Yield the answer's parts as they arrive. Raises ``ModelError``."""

    async def warm(self) -> None:  # noqa: B027 - many have nothing to load
        """Load what the first request would have to wait for."""

    @abstractmethod
    async def models(self) -> list[str]:
        """The model ids that the account offers. Raises ``ModelError``."""

    @abstractmethod
    async def close(self) -> None: ...
