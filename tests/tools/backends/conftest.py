"""A home with two users' workspaces, canaries around them, and listeners on the host."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from tools.backends.base import ExecutionResult
from tools.backends.local import BACKEND
from tools.workspace import workspace_for

CANARY = "canary-7f3a91c2"


@dataclass
class Host:
    """What an escape would reach."""

    top: Path
    workspace: Path
    other: Path
    port: int
    sockets: list[socket.socket]

    def run(self, command: str, **options: object) -> ExecutionResult:
        return BACKEND.execute(command, workspace=self.workspace, **options)  # type: ignore[arg-type]

    def outside(self) -> dict[str, tuple[bytes, int]]:
        """Every file of the home but the workspace's own: content and mode."""
        found = {}
        for path in self.top.rglob("*"):
            if self.workspace in path.parents or not path.is_file():
                continue
            found[str(path)] = (path.read_bytes(), path.stat().st_mode)
        return found

    def knocked(self) -> bool:
        """Whether anything arrived at a listener."""
        for listener in self.sockets:
            try:
                if listener.type == socket.SOCK_DGRAM:
                    listener.recv(100)
                else:
                    listener.accept()[0].close()
            except BlockingIOError:
                continue
            return True
        return False


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    top = tmp_path / "home"
    top.mkdir()
    own, other = workspace_for(top, uuid4()), workspace_for(top, uuid4())
    for path in (top / "canary", other / "canary", top / "secret.env", top / "workspaces/canary"):
        path.write_text(CANARY)
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    stream = socket.create_server(("127.0.0.1", 0))
    port = stream.getsockname()[1]
    datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagram.bind(("127.0.0.1", port))
    sockets = [stream, datagram]
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        # A path of its own: pytest's are longer than a socket's name may be.
        for name in (f"\0hermes-{os.getpid()}-{kind}", f"/tmp/hermes-{os.getpid()}-{kind}"):
            listener = socket.socket(socket.AF_UNIX, kind)
            listener.bind(name)
            if kind == socket.SOCK_STREAM:
                listener.listen()
            sockets.append(listener)
    for listener in sockets:
        listener.setblocking(False)
    yield Host(top, own, other, port, sockets)
    for listener in sockets:
        name = listener.getsockname()
        listener.close()
        if isinstance(name, str) and name.startswith("/"):
            os.unlink(name)
