"""A provider over an official SDK: the connections, the reading of a stream, the errors.

The SDK gives authentication, addresses, time-outs and error classes; its objects for each chunk
are left out, as they cost more than everything else on the way of a token.
"""

from __future__ import annotations

import asyncio
import importlib
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, ClassVar, Protocol

from agents.providers.base import Account, Finish, ModelError, ModelRequest, Part, Provider
from agents.wire.errors import of_exception, unreadable_answer
from agents.wire.sse import SseDecoder

CONNECT_SECONDS = 10.0
# No byte for this long, also before the first: the stream is dead.
STALE_SECONDS = 120.0
MODELS_SECONDS = 20.0
MAX_CONNECTIONS = 1000
KEPT_SECONDS = 60.0
# Waited for the end of a finished answer, so that its connection can be used again.
_DRAIN_SECONDS = 0.25


class Answer(Protocol):
    """One answer of a wire format as it comes in: ``done`` after its last event, ``reason`` once
    the model said why it ended, ``finish`` None when it was cut."""

    done: bool
    reason: str

    @property
    def finish(self) -> Finish | None: ...

    def parts(self, payload: bytes) -> Iterator[Part]: ...


class SdkProvider(Provider):
    """``sdk`` are the modules to load, the SDK first; they are heavy and loaded on first use,
    beside the event loop."""

    name: str
    sdk: ClassVar[tuple[str, ...]]

    def __init__(self, account: Account) -> None:
        super().__init__(account)
        self._client: Any = None

    @abstractmethod
    def open(self, sdk: Any, http_client: Any, timeout: Any) -> Any:
        """Make the SDK's client."""

    @abstractmethod
    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The arguments of the SDK's call. Raises ``ModelError`` for a history not valid."""

    @abstractmethod
    def post(self, client: Any, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        """The SDK's call with a response that is read as raw bytes."""

    @abstractmethod
    def begin(self) -> Answer:
        """A reader for one answer."""

    async def client(self) -> Any:
        """The SDK's client, made within the running loop. Raises ``ModelError``."""
        if self._client is None:
            await asyncio.to_thread(lambda: [importlib.import_module(m) for m in self.sdk])
        if self._client is None:  # Another stream may have made it meanwhile.
            import httpx2

            sdk = importlib.import_module(self.sdk[0])
            timeout = httpx2.Timeout(STALE_SECONDS, connect=CONNECT_SECONDS, pool=STALE_SECONDS)
            limits = httpx2.Limits(
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=300,
                keepalive_expiry=KEPT_SECONDS,
            )
            # A redirect would carry the key to another host.
            http_client = sdk.DefaultAioHttpClient(
                limits=limits, timeout=timeout, follow_redirects=False
            )
            try:
                self._client = self.open(sdk, http_client, timeout)
            except Exception as error:
                raise of_exception(error, self.account, started=False) from None
        return self._client

    async def warm(self) -> None:
        await self.client()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.account.name!r})"

    async def _payloads(
        self, opening: AbstractAsyncContextManager[Any]
    ) -> AsyncGenerator[list[bytes], None]:
        """Yield the payloads of a streamed answer, those of one network read together; the one
        of an answer in plain JSON as it is. Raises ``ModelError``."""
        started = False
        try:
            async with opening as response:
                started = True
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind.startswith("text/html"):
                    raise unreadable_answer(kind, self.account)
                if kind == "application/json":
                    yield [await response.read()]
                    return
                decoder = SseDecoder()
                # Below the SDK's own reading, which does nothing to bytes that are not compressed.
                packed = "content-encoding" in response.headers
                raw = response.iter_bytes() if packed else response.http_response.stream
                async for chunk in raw:
                    if found := decoder.feed(chunk):
                        yield found
                if found := decoder.end():
                    yield found
        except ModelError:
            raise
        except Exception as error:
            # SDK, HTTP client and its transport raise classes of three libraries.
            raise of_exception(error, self.account, started=started) from None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Part, None]:
        body, answer = self.body(request), self.begin()
        opening = self.post(await self.client(), body)
        async with aclosing(self._payloads(opening)) as payloads:
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
            if answer.finish is None:
                raise ModelError("cut", "The model's answer broke off.", retry=True)
            yield answer.finish
            await _drain(payloads)

    async def models(self) -> list[str]:
        client = await self.client()
        try:
            listed = await client.models.with_raw_response.list(timeout=MODELS_SECONDS)
            return _ids(listed.http_response.json())
        except ValueError:
            raise unreadable_answer("something else than JSON", self.account) from None
        except Exception as error:
            raise of_exception(error, self.account, started=False) from None


def _ids(listed: object) -> list[str]:
    rows = listed.get("data") if isinstance(listed, dict) else listed
    rows = rows if isinstance(rows, list) else []
    return [str(row["id"]) for row in rows if isinstance(row, dict) and row.get("id")]


async def _drain(payloads: AsyncIterator[list[bytes]]) -> None:
    """Read an answer's last bytes; what happens to them matters no more."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in payloads:
                pass
    except (TimeoutError, ModelError):
        return
