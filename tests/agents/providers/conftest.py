"""Asking a provider as the loop does, and one of each wire format."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.calls import CallAssembler
from agents.providers.base import (
    Account,
    ChatMessage,
    Finish,
    ModelError,
    ModelRequest,
    Part,
    Provider,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallPart,
    Usage,
)
from agents.registry import PROVIDERS
from tests.fakes.scripted_llm import ScriptedLLM

# Of no known vendor's form, so that only the account tells that it is a key.
KEY = "canary0123456789abcdef"
TOOLS = tuple(
    {
        "name": name,
        "description": f"The tool {name}.",
        "parameters": {"type": "object", "properties": {"u": {"type": "integer"}}},
    }
    for name in ("web_fetch", "web_search", "read_file")
)


def request(*messages: ChatMessage, **fields: Any) -> ModelRequest:
    fields = {"system": "Be brief.", "tools": TOOLS} | fields
    return ModelRequest("a-model", messages=messages or (ChatMessage("user", "hi"),), **fields)


@dataclass
class Heard:
    """Everything that one answer gave."""

    parts: list[Part] = field(default_factory=list)
    error: ModelError | None = None

    def _joined(self, kind: type[TextDelta] | type[ReasoningDelta]) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, kind))

    @property
    def text(self) -> str:
        return self._joined(TextDelta)

    @property
    def reasoning(self) -> str:
        return self._joined(ReasoningDelta)

    @property
    def finish(self) -> str:
        return next((p.reason for p in self.parts if isinstance(p, Finish)), "")

    @property
    def usage(self) -> Usage | None:
        return next((p for p in reversed(self.parts) if isinstance(p, Usage)), None)

    @property
    def calls(self) -> list[ToolCallPart]:
        assembler = CallAssembler(tool["name"] for tool in TOOLS)
        for part in self.parts:
            if isinstance(part, TextDelta):
                assembler.text(part.text)
            elif isinstance(part, ToolCallDelta):
                assembler.delta(part)
        return assembler.finish(complete=bool(self.finish))[1]


async def listen(provider: Provider, asked: ModelRequest) -> Heard:
    heard = Heard()
    try:
        async for part in provider.stream(asked):
            heard.parts.append(part)
    except ModelError as error:
        heard.error = error
    return heard


@pytest.fixture(params=["openai", "anthropic"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., Provider]]:
    """Makes providers by kind for a server or an address, and closes them."""
    made: list[Provider] = []

    def make(kind: str, server: ScriptedLLM | str, **fields: Any) -> Provider:
        url = server
        if isinstance(server, ScriptedLLM):
            url = server.openai_url if kind == "openai" else server.anthropic_url
        provider = PROVIDERS.all()[kind](Account("acme", kind, KEY, str(url), **fields))
        made.append(provider)
        return provider

    yield make
    for provider in made:
        await provider.close()
