"""OpenAI and everything that speaks its Chat Completions format."""

from __future__ import annotations

from typing import Any, ClassVar

from agents.providers.base import ModelRequest
from agents.wire.chat import ChatAnswer, chat_body
from agents.wire.client import SdkProvider

_ADDRESS = "https://api.openai.com/v1"


class OpenAIProvider(SdkProvider):
    """Chat Completions over the official SDK."""

    name = kind = "openai"
    sdk: ClassVar[tuple[str, ...]] = ("openai", "openai.resources.chat.completions")

    def open(self, sdk: Any, http_client: Any, timeout: Any) -> Any:
        return sdk.AsyncOpenAI(
            api_key=self.account.api_key or "none",  # Local servers want a key in form only.
            base_url=self.account.base_url or _ADDRESS,
            timeout=timeout,
            max_retries=0,
            http_client=http_client,
        )

    def body(self, request: ModelRequest) -> dict[str, Any]:
        body = chat_body(request)
        if request.max_output:
            body[self._limit_field()] = request.max_output
        return body | {"stream": True, "stream_options": {"include_usage": True}}

    def post(self, client: Any, body: dict[str, Any]) -> Any:
        # As ``extra_body`` the history is sent as it is; the SDK would walk through all of it.
        return client.chat.completions.with_streaming_response.create(
            model=body["model"], messages=(), stream=True, extra_body=body
        )

    def begin(self) -> ChatAnswer:
        return ChatAnswer(self.account)

    def _limit_field(self) -> str:
        """The newer name is required by OpenAI's reasoning models and unknown to many servers."""
        official = (self.account.base_url or _ADDRESS).startswith("https://api.openai.com/")
        return "max_completion_tokens" if official else "max_tokens"


PROVIDER = OpenAIProvider
