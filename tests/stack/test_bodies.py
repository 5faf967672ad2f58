"""Bodies that are too large are refused before a login, and cost the portal little."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import psutil
import pytest
import requests

from tests.fakes.portal import Portal

pytestmark = pytest.mark.stack
MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module", params=["daphne", "uvicorn"])
def server(request: pytest.FixtureRequest) -> Iterator[Portal]:
    with Portal(HERMES_SERVER=request.param, HERMES_MAX_UPLOAD=str(4 * MEGABYTE)) as portal:
        yield portal


def answer(portal: Portal, head: str, chunks: Iterator[bytes]) -> bytes:
    """What comes back while the body is being sent, at most its first line."""
    parts = urlsplit(portal.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        connection.sendall(
            f"POST /accounts/login/ HTTP/1.1\r\nHost: {parts.netloc}\r\n{head}\r\n\r\n".encode()
        )
        try:
            for chunk in chunks:
                connection.sendall(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass
        try:
            return connection.recv(1000).split(b"\r\n")[0]
        except ConnectionResetError:
            return b"reset"


def test_a_declared_size_is_enough(server: Portal) -> None:
    head = f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {10**12}"
    assert b" 413 " in answer(server, head, iter(()))


def test_a_chunked_body_ends_at_the_limit(server: Portal) -> None:
    chunk = b"%x\r\n%s\r\n" % (MEGABYTE, b"a" * MEGABYTE)
    sent = []

    def chunks() -> Iterator[bytes]:
        for number in range(200):
            sent.append(number)
            yield chunk

    line = answer(server, "Transfer-Encoding: chunked", chunks())
    assert b" 413 " in line or line == b"reset"
    assert len(sent) < 100


def test_a_large_form_is_not_parsed_in_memory(server: Portal) -> None:
    web = psutil.Process(server.pid("web"))
    requests.get(f"{server.url}/accounts/login/", timeout=20)
    before = web.memory_info().rss
    body = b"&".join([b"a=b"] * 900_000)
    answered = requests.post(
        f"{server.url}/accounts/login/",
        data=body,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        timeout=20,
    )
    assert answered.status_code in (400, 403, 413)
    assert web.memory_info().rss - before < 60 * MEGABYTE
