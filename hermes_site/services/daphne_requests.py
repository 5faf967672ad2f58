"""Requests of daphne that never hold more of a body than the portal would take.

Twisted reads every body to its end and parses forms in memory, before the application is asked.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from daphne import http_protocol

from hermes_site.body_limit import largest_body

_REFUSAL = b'{"code":"too_large","message":"The body is too large."}'
_ANSWER = (
    b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_REFUSAL), _REFUSAL)
)


class BoundedRequest(http_protocol.WebRequest):  # type: ignore[misc]
    """Ends the connection when the body is, or says it will be, larger than the limit."""

    _left = 0
    _refused = False
    _kind: list[bytes]

    def gotLength(self, length: int | None) -> None:
        self._left = largest_body()
        if length is not None and length > self._left:
            self._refuse()
        else:
            super().gotLength(length)

    def handleContentChunk(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left >= 0 and not self._refused:
            super().handleContentChunk(data)
        elif not self._refused:  # what still comes is dropped
            self._refuse()

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        if self._refused:
            return
        # Without a type Twisted leaves the form to Django.
        self._kind = self.requestHeaders.getRawHeaders(b"content-type") or []
        self.requestHeaders.removeHeader(b"content-type")
        super().requestReceived(command, path, version)

    def process(self) -> Any:
        if self._kind:
            self.requestHeaders.setRawHeaders(b"content-type", self._kind)
        return super().process()

    def _refuse(self) -> None:
        self._refused, self.content = True, BytesIO()
        self.channel.transport.write(_ANSWER)
        self.channel.transport.loseConnection()


def bound_requests() -> None:
    """Let daphne, which has no setting for it, make these."""
    http_protocol.WebRequest = BoundedRequest
