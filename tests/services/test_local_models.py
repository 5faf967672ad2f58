"""Finding local model servers: real HTTP servers, good and bad, on loopback ports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hermes_site.services.local_models import LocalServer, find_local_models
from tests.fakes.servers import free_port

GOOD = b'{"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "llama3"}]}'


@pytest.fixture
def serve() -> Iterator[Callable[..., int]]:
    """Start a server that gives one answer to everything; returns its port."""
    servers: list[ThreadingHTTPServer] = []

    def serve(body: bytes, status: int = 200) -> int:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status if self.path == "/v1/models" else 404)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return int(server.server_address[1])

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def test_finds_who_lists_models_and_nobody_else(serve: Callable[..., int]) -> None:
    good = serve(GOOD)
    ports = {
        "Ollama": good,
        "closed": free_port(),
        "a web site": serve(b"<html>"),
        "empty": serve(b'{"data": []}'),
        "a list": serve(b"[1]"),
        "odd rows": serve(b'{"data": [3]}'),
        "locked": serve(GOOD, 401),
    }
    assert find_local_models(ports=ports) == [
        LocalServer("Ollama", f"http://127.0.0.1:{good}/v1", ("qwen3:8b", "llama3"))
    ]


def test_never_finds_the_portal_itself(serve: Callable[..., int]) -> None:
    own = serve(GOOD)
    assert find_local_models(ports={"vLLM": own}, skip_port=own) == []


def test_an_environment_proxy_is_not_asked(
    serve: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = serve(GOOD)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("no_proxy", raising=False)
    assert [server.name for server in find_local_models(ports={"Ollama": good})] == ["Ollama"]
