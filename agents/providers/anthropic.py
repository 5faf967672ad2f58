"""Anthropic's Messages API."""

from __future__ import annotations

from typing import Any, ClassVar

from agents.providers.base import ModelRequest
from agents.wire.blocks import MessagesAnswer, messages_body
from agents.wire.client import SdkProvider

_ADDRESS = "https://api.anthropic.com"
_MAX_OUTPUT = 8192


class AnthropicProvider(SdkProvider):
    """Messages over the official SDK."""

    name = kind = "anthropic"
    sdk: ClassVar[tuple[str, ...]] = ("anthropic", "anthropic.resources.messages")

    def open(self, sdk: Any, http_client: Any, timeout: Any) -> Any:
        return sdk.AsyncAnthropic(
            api_key=self.account.api_key or "none",
            # The SDK adds the version itself; people write the address with and without it.
            base_url=(self.account.base_url or _ADDRESS).rstrip("/").removesuffix("/v1"),
            timeout=timeout,
            max_retries=0,
            http_client=http_client,
        )

    def body(self, request: ModelRequest) -> dict[str, Any]:
        body = messages_body(request) | {"stream": True}
        profile = self.account.profile
        body["max_tokens"] = (
            request.max_output or (profile.max_output if profile else None) or _MAX_OUTPUT
        )
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return body

    def post(self, client: Any, body: dict[str, Any]) -> Any:
        # As ``extra_body`` the history is sent as it is; the SDK would walk through all of it.
        return client.messages.with_streaming_response.create(
            model=body["model"],
            max_tokens=body["max_tokens"],
            messages=(),
            stream=True,
            extra_body=body,
        )

    def begin(self) -> MessagesAnswer:
        return MessagesAnswer(self.account)


PROVIDER = AnthropicProvider
