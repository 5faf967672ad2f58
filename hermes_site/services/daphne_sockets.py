"""Websockets of daphne that send a frame at once.

Autobahn composes a frame for every feature that it knows, and Twisted writes it one turn of the
loop later, for which it adds and removes a writer. Most of a token's way through the web process
was that; here a text frame is a header, the payload and one call to the socket.
"""

from __future__ import annotations

import struct
from typing import Any

from daphne import ws_protocol
from twisted.internet.tcp import Server

_TEXT, _BINARY = b"\x81", b"\x82"  # a frame that is a whole message, RFC 6455 §5.2


class DirectProtocol(ws_protocol.WebSocketProtocol):  # type: ignore[misc]
    """As daphne's, which still does all but sending messages. No extension is negotiated."""

    def serverSend(self, content: Any, binary: bool = False) -> None:
        if self.state == self.STATE_CONNECTING:
            self.serverAccept()
        if self.state != self.STATE_OPEN:
            return  # closing: what is sent now would not be read
        payload = content if binary else content.encode()
        _write(self.transport, (_BINARY if binary else _TEXT) + _length(len(payload)) + payload)


def _length(size: int) -> bytes:
    if size < 126:
        return bytes((size,))
    return struct.pack("!BH", 126, size) if size < 65536 else struct.pack("!BQ", 127, size)


def _write(transport: Any, frame: bytes) -> None:
    """Straight to the socket when nothing waits before it; the transport takes the rest."""
    sent = 0
    plain = type(transport) is Server and transport.connected and not transport.disconnecting
    if plain and not (transport.dataBuffer or transport._tempDataBuffer):
        try:
            sent = transport.socket.send(frame)
        except OSError:
            sent = 0  # full, or broken: the transport knows what to do about either
    if sent < len(frame):
        transport.write(frame[sent:])


def direct_sockets() -> None:
    """Let daphne, which has no setting for it, make these."""
    ws_protocol.WebSocketFactory.protocol = DirectProtocol
