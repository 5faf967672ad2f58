"""OpenAI and everything that speaks its Chat Completions format."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, ClassVar

from agents.providers.base import Finish, ModelError, ModelRequest, Part
from agents.wire.chat import ChatAnswer, chat_body
from agents.wire.client import MODELS_SECONDS, SdkProvider, drain

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

    async def stream(self, request: ModelRequest) -> AsyncIterator[Part]:
        body = chat_body(request)
        if request.max_output:
            body[self._limit_field()] = request.max_output
        client = await self.client()
        opening = client.chat.completions.with_streaming_response.create(
            stream=True, stream_options={"include_usage": True}, **body
        )
        answer = ChatAnswer(self.account)
        async with aclosing(self.payloads(opening)) as payloads:
            try:
                async for batch in payloads:
                    for payload in batch:
                        for part in answer.parts(payload):
                            yield part
                    if answer.done:
                        break
            except ModelError:
                # A connection that breaks after the finish reason takes nothing away.
                if not answer.reason:
                    raise
            yield _end(answer)
            await drain(payloads)

    def _limit_field(self) -> str:
        """The newer name is required by OpenAI's reasoning models and unknown to many servers."""
        official = (self.account.base_url or _ADDRESS).startswith("https://api.openai.com/")
        return "max_completion_tokens" if official else "max_tokens"

    async def models(self) -> list[str]:
        client = await self.client()
        try:
            answer = await client.models.with_raw_response.list(timeout=MODELS_SECONDS)
            return model_ids(answer.http_response.json())
        except Exception as error:
            raise self.failure(error, started=False) from None


def _end(answer: ChatAnswer) -> Finish:
    if answer.finish is None:
        raise ModelError("cut", "The model's answer broke off.", retry=True)
    return answer.finish


def model_ids(listed: object) -> list[str]:
    """The ids of a model list, in its order."""
    rows = listed.get("data") if isinstance(listed, dict) else listed
    rows = rows if isinstance(rows, list) else []
    return [str(row["id"]) for row in rows if isinstance(row, dict) and row.get("id")]


PROVIDER = OpenAIProvider
