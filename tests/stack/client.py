"""A person with a token: speaks REST and websocket to a portal under test, and does not give
up when a process is being killed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, Self
from uuid import uuid4

import requests
from websockets.sync.client import connect

from tests.fakes.portal import Portal

ENDED = ("completed", "failed", "cancelled")
PATIENCE = 90.0


class Person:
    """``token`` is a personal API token. Calls are repeated while the door is shut."""

    def __init__(self, portal: Portal, token: str) -> None:
        self.portal, self.token = portal, token
        self.headers = {"Authorization": f"Bearer {token}"}

    def call(self, method: str, path: str, body: Any = None, *, patient: bool = True) -> Any:
        """The response; with ``patient`` a refused connection or a 5xx is tried again."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                answer = requests.request(
                    method,
                    f"{self.portal.url}/api/v1/{path}",
                    json=body,
                    headers=self.headers,
                    timeout=20,
                )
            except requests.RequestException:
                if not patient or time.monotonic() > until:
                    raise
            else:
                if answer.status_code < 500 or not patient or time.monotonic() > until:
                    return answer
            time.sleep(0.2)

    def session(self) -> str:
        return str(self.call("POST", "sessions", {}).json()["id"])

    def say(self, session: str, text: str, **fields: Any) -> dict[str, Any]:
        """Send a message under one client_id until it is accepted; ``{message, run}``."""
        body = {"text": text, "client_id": str(uuid4()), **fields}
        answer = self.call("POST", f"sessions/{session}/messages", body)
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def run(self, id: str) -> dict[str, Any]:
        return dict(self.call("GET", f"runs/{id}").json())

    def wait(self, id: str, timeout: float = PATIENCE) -> dict[str, Any]:
        """The run once it has ended; fails with the portal's report."""
        until = time.monotonic() + timeout
        while True:
            run = self.run(id)
            if run.get("state") in ENDED:
                return run
            assert time.monotonic() < until, f"{run}\n{self.portal.report()}"
            time.sleep(0.25)

    def messages(self, session: str) -> list[dict[str, Any]]:
        found = self.call("GET", f"sessions/{session}/messages?limit=200").json()
        return list(found["results"])

    def pending(self) -> list[dict[str, Any]]:
        return list(self.call("GET", "approvals?state=pending").json()["results"])

    def decide(self, id: str, decision: str = "allow", **fields: Any) -> Any:
        return self.call("POST", f"approvals/{id}/decide", {"decision": decision, **fields})

    def watch(self, session: str, after: int | None = None) -> Watcher:
        return Watcher(self, session, after)


class Approver:
    """Allows everything that its person is asked, while it is entered."""

    def __init__(self, person: Person) -> None:
        self.person, self.decided = person, 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._decide, daemon=True)

    def _decide(self) -> None:
        while not self._stop.wait(0.2):
            for approval in self.person.pending():
                self.decided += self.person.decide(approval["id"]).status_code == 200

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


class Watcher:
    """A browser tab: holds the text of each message as the rules for clients say."""

    def __init__(self, person: Person, session: str, after: int | None) -> None:
        self.person, self.session, self.seq = person, session, after
        self.events: list[dict[str, Any]] = []
        self.texts: dict[str, str] = {}
        self.states: dict[str, str] = {}
        self.gaps = 0
        self._open()

    def _open(self) -> None:
        place = "" if self.seq is None else f"?after={self.seq}"
        url = self.person.portal.url.replace("http", "ws")
        self.socket = connect(
            f"{url}/ws/sessions/{self.session}/{place}",
            additional_headers=self.person.headers,
            max_size=None,
            compression=None,
            # A tab that is not looked at for a while still takes what comes.
            max_queue=None,
            ping_interval=None,
        )

    def reopen(self) -> None:
        self.socket.close()
        self._open()

    def send(self, **frame: Any) -> None:
        self.socket.send(json.dumps(frame))

    def until(self, wanted: str | Callable[[dict[str, Any]], bool], timeout: float = 30) -> Any:
        """Take events until one is of type ``wanted`` (or fits), and return it."""
        until = time.monotonic() + timeout
        while True:
            event = self.take(until - time.monotonic())
            fits = event["type"] == wanted if isinstance(wanted, str) else wanted(event)
            if fits:
                return event

    def take(self, timeout: float = 30) -> dict[str, Any]:
        event = json.loads(self.socket.recv(timeout=timeout))
        self.events.append(event)
        self.seq = event["seq"]
        self._apply(event["type"], event["data"])
        return dict(event)

    def _apply(self, type: str, data: dict[str, Any]) -> None:
        if type == "session.snapshot":
            self.texts = {m["id"]: m["text"] for m in data["messages"]}
            self.states = {m["id"]: m["state"] for m in data["messages"]}
            if data["live"]:
                self.texts[data["live"]["message"]] = data["live"]["text"]
        elif type == "message.started":
            self.texts[data["message"]] = ""
            self.states[data["message"]] = "streaming"
        elif type == "message.delta" and self.states.get(data["message"]) != "completed":
            known = self.texts.get(data["message"], "")
            self.gaps += data["offset"] > len(known)
            self.texts[data["message"]] = known[: data["offset"]] + data["text"]
        elif type == "message.completed":
            self.texts[data["message"]] = data["text"]
            self.states[data["message"]] = data["state"]
