"""A thousand malformed requests: each is an error message, none a 500 or a dead session (P28)."""

from __future__ import annotations

import base64
import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from accounts.services import limit_set
from tests.gateway.api.conftest import Client, answered

pytestmark = pytest.mark.django_db

REQUESTS = 1000
NAMES = ["user", "id", "__proto__", "is_staff", "", "té\ud800", "x" * 999]
BROKEN = [b"{", b"{'a': 1}", b"\xff\xfe", b"{}{}", b"<a/>", b"\x00", b'{"a":}', b"nul", b"  "]
NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "9" * 30, "9" * 6000, "-" + "9" * 25]
# What the position in a cursor is not.
PLACES = ["p=x", "p=%00", "p=1.5", "p=[]", "o=x", "p='", "p=\ud7ff", "r=1&p=q", "q=1", "&&", "p"]
WRONG = [None, True, 5, -1, 1.5, 10**15, [], [1], {}, {"a": 1}, [[]], ""]
# Field -> a few values that are never right there.
TEXTS: list[Any] = [True, 5, 1.5, [], {}, ["x"], None]
FORMS: list[tuple[str, str, dict[str, list[Any]]]] = [
    ("POST", "sessions", {"title": [*TEXTS, "x" * 201], "mode": ["x", 5, []], "engine": ["no"]}),
    (
        "PATCH",
        "sessions/{session}",
        {
            "title": [*TEXTS, "x" * 201],
            "tags": ["x", 5, {}, [5], [None], ["x"] * 30, ["x" * 60], [[]], None],
            "archived": ["true", 1, 0, None, [], {}],
            "pinned": ["no", 2, None, []],
            "engine": [*TEXTS, "no-such", "../x", "x" * 99],
            "model": [5, [], {}, "x" * 300, "anthropic/none", True],
            "mode": [*TEXTS, "", "CODE"],
        },
    ),
    (
        "POST",
        "sessions/{session}/messages",
        {
            "text": [*TEXTS, "", "   ", "\n\t", "x" * 100_001],
            "files": ["x", 5, {}, ["x"], [5], [[]], ["x" * 100]],
            "skills": ["x", 5, {}, [5], [[]]],
            "explicitSkill": [5, [], {}, "x" * 101],
            "client_id": [5, [], {}, "x" * 101],
            "engine": ["no", 5, [], {}],
            "mode": ["no", 5, [], {}],
            "model": [5, [], {}, "x" * 201],
        },
    ),
    ("POST", "messages/{message}/edit", {"text": [*TEXTS, "", " ", "/help"], "client_id": [5]}),
    ("POST", "messages/{message}/regenerate", {"client_id": [5, [], {}, ""]}),
    ("POST", "runs/{run}/steer", {"text": [*TEXTS, "", "\t"]}),
    (
        "POST",
        "approvals/{run}/decide",
        {"decision": [*TEXTS, "", "maybe"], "arguments": ["x", 5, [], True]},
    ),
    (
        "POST",
        "tokens",
        {
            "name": [5, [], {}, None, "x" * 101],
            "scopes": ["read", 5, {}, [], [5], ["root"], [None], ["read"] * 9],
            "days": ["7", 0, -1, 1.5, True, [], 10**9],
        },
    ),
]
LISTS = ["sessions", "approvals", "tokens", "files", "sessions/{session}/messages"]
IDS = [
    "x",
    "0",
    "-1",
    "%00",
    "..%2f..%2fetc",
    "%ff%fe",
    "00000000-0000-0000-0000-000000000000",
    "00000000-0000-0000-0000-00000000000g",
    "{}",
    "a" * 400,
    "' OR 1=1 --",
    "🎉",
    "%F0%9F%8E",
]


class Malformed:
    """Makes requests that are wrong in one way each."""

    def __init__(self, seed: int, known: dict[str, str]) -> None:
        self.random, self.known = random.Random(seed), known
        self.ways: list[Callable[[], tuple[str, str, dict[str, Any]]]] = [
            self.wrong_field,
            self.wrong_field,
            self.unknown_field,
            self.no_json,
            self.no_object,
            self.bad_number,
            self.too_deep,
            self.too_large,
            self.wrong_type,
            self.bad_id,
            self.bad_query,
            self.bad_cursor,
            self.wrong_method,
            self.bad_header,
            self.bad_upload,
        ]

    def __call__(self) -> tuple[str, str, str, dict[str, Any]]:
        way = self.random.choice(self.ways)
        method, path, more = way()
        return way.__name__, method, f"/api/v1/{path.format(**self.known)}", more

    def form(self) -> tuple[str, str, dict[str, list[Any]]]:
        return self.random.choice(FORMS)

    def wrong_field(self) -> tuple[str, str, dict[str, Any]]:
        method, path, fields = self.form()
        name = self.random.choice(list(fields))
        body = {"text": "fine"} if "text" in fields else {}
        body |= {"decision": "allow"} if "decision" in fields else {}
        return method, path, _json({**body, name: self.random.choice(fields[name])})

    def unknown_field(self) -> tuple[str, str, dict[str, Any]]:
        method, path, fields = self.form()
        body = {"text": "fine"} if "text" in fields else {}
        return method, path, _json({**body, self.random.choice(NAMES): self.random.choice(WRONG)})

    def no_json(self) -> tuple[str, str, dict[str, Any]]:
        method, path, _ = self.form()
        return method, path, _raw(self.random.choice(BROKEN))

    def no_object(self) -> tuple[str, str, dict[str, Any]]:
        method, path, _ = self.form()
        return method, path, _json(self.random.choice([None, True, 5, "x", [], [{}], [[[]]], 1.5]))

    def bad_number(self) -> tuple[str, str, dict[str, Any]]:
        method, path, _ = self.form()
        return method, path, _raw(b'{"days": %s}' % self.random.choice(NUMBERS).encode())

    def too_deep(self) -> tuple[str, str, dict[str, Any]]:
        method, path, _ = self.form()
        depth = self.random.choice([65, 200, 5000, 100_000])
        return method, path, _raw(b'{"title": ' + b"[" * depth + b"]" * depth + b"}")

    def too_large(self) -> tuple[str, str, dict[str, Any]]:
        method, path, _ = self.form()
        kind = self.random.choice(
            ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"]
        )
        return method, path, {"data": b'{"title": "' + b"x" * 2_100_000, "content_type": kind}

    def wrong_type(self) -> tuple[str, str, dict[str, Any]]:
        method, path, _ = self.form()
        kinds = ["text/plain", "application/xml", "application/x-www-form-urlencoded", "x"]
        return method, path, {"data": b"{}", "content_type": self.random.choice(kinds)}

    def bad_id(self) -> tuple[str, str, dict[str, Any]]:
        method, path, _ = self.random.choice([f for f in FORMS if "{" in f[1]])
        head, _, rest = path.partition("/")
        _, slash, tail = rest.partition("/")
        id = self.random.choice(IDS).replace("{", "{{").replace("}", "}}")
        method = self.random.choice([method, "GET"]) if not tail else method
        return method, f"{head}/{id}{slash}{tail}", _json({"text": "x"}) if method != "GET" else {}

    def bad_query(self) -> tuple[str, str, dict[str, Any]]:
        queries = [
            ("sessions", ["limit=0", "limit=-1", "limit=x", "limit=201", "limit=1e3", "limit=٣"]),
            ("sessions", ["archived=maybe", "archived=", "limit=" + "9" * 50, "limit=%00"]),
            ("approvals", ["state=open", "state=", "session=x", "session=%00", "limit="]),
            ("sessions/{session}/messages", ["branch=x", "order=up", "before=x", "before=-1"]),
            ("sessions/{session}/messages", ["before=" + "9" * 40, "before=1.5", "branch=%00"]),
        ]
        path, words = self.random.choice(queries)
        return "GET", f"{path}?{self.random.choice(words)}", {}

    def bad_cursor(self) -> tuple[str, str, dict[str, Any]]:
        encoded = base64.b64encode(self.random.choice(PLACES).encode()).decode()
        cursor = self.random.choice([encoded, "x", "%%%", "AAAA", encoded[:-3] + "!!"])
        return "GET", f"{self.random.choice(LISTS)}?cursor={cursor.replace('+', '%2B')}", {}

    def wrong_method(self) -> tuple[str, str, dict[str, Any]]:
        path = self.random.choice(["me", "tools", "runs/{run}", "files/{run}", "approvals"])
        return self.random.choice(["POST", "PUT", "DELETE", "TRACE", "BREW"]), path, _json({})

    def bad_header(self) -> tuple[str, str, dict[str, Any]]:
        headers = [
            {"HTTP_AUTHORIZATION": "Bearer hp_" + "y" * 43},
            {"HTTP_AUTHORIZATION": "Bearer \u00ff\x01"},
            {"HTTP_ACCEPT": "application/xml"},
            {"HTTP_AUTHORIZATION": "Bearer " + "hp_" * 3000},
        ]
        return "GET", self.random.choice(["me", "sessions"]), dict(self.random.choice(headers))

    def bad_upload(self) -> tuple[str, str, dict[str, Any]]:
        parts = [b"", b"--b\r\n", b"\xff" * 500, _part("file"), _part('"file"; filename=""')]
        parts += [_part('"x"; filename="a"'), _part("session") * 200, _part("file") * 3000]
        kinds = ["multipart/form-data; boundary=b", "multipart/form-data", "multipart/mixed"]
        data, kind = self.random.choice(parts), self.random.choice(kinds)
        return "POST", "files", {"data": data, "content_type": kind}


def _part(name: str) -> bytes:
    head = f"--b\r\nContent-Disposition: form-data; name={name}\r\n\r\n"
    return f"{head}x\r\n--b--\r\n".encode()


def _json(body: Any) -> dict[str, Any]:
    return _raw(json.dumps(body).encode())


def _raw(body: bytes) -> dict[str, Any]:
    return {"data": body, "content_type": "application/json"}


@pytest.fixture
def hardy(alice: Any, session: Any, api: Any) -> Any:
    """Alice's client that shows a 500 as an answer, and a session with one answered message."""
    limit_set(subject="everyone", action="message", rate="100000/m", actor="test")
    run = answered(alice, session)
    api.raise_request_exception = False
    return api, {"session": str(session.pk), "run": str(run.pk), "message": str(run.message_id)}


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_malformed_is_an_error_with_words(hardy: Any, seed: int) -> None:
    api, known = hardy
    make, seen = Malformed(seed, known), Counter()
    for _ in range(REQUESTS // 4):
        way, method, path, more = make()
        answer = api.generic(method, path, **more)
        said = f"{way}: {method} {path[:120]} {str(more)[:200]} -> {answer.status_code}"
        assert 400 <= answer.status_code < 500, said
        if method != "TRACE":
            body = json.loads(answer.content)
            assert body.keys() == {"code", "message", "extra"}, said
            assert body["code"] and body["message"], said
        seen[way, answer.status_code] += 1
    assert len({way for way, _ in seen}) == 14
    assert {status for _, status in seen} >= {400, 401, 404, 405, 406, 413, 415}
    alive(api, known)


def alive(api: Client, known: dict[str, str]) -> None:
    """The session is as it was, and still takes a message."""
    history = api.get(f"sessions/{known['session']}/messages").json()["results"]
    assert [m["text"] for m in history] == ["hello", "Hi."]
    said = api.post(f"sessions/{known['session']}/messages", {"text": "still there?"})
    assert said.status_code == 202


@pytest.mark.parametrize(
    "text",
    [
        "\ud800 half",
        "a\x00b",
        "\u202ereversed",
        "🎉" * 1000,
        "\uffff",
        "line\r\nline",
        "{{7*7}} ${x} %s %n",
        "<script>alert(1)</script>",
        "'; DROP TABLE memory_message; --",
    ],
)
def test_odd_text_is_kept_without_what_cannot_be(hardy: Any, text: str) -> None:
    api, known = hardy
    raw = json.dumps({"text": text, "client_id": text[:20]})
    said = api.post(
        f"/api/v1/sessions/{known['session']}/messages", raw, content_type="application/json"
    )
    assert said.status_code == 202
    kept = api.get(f"messages/{said.json()['message']}").json()["text"]
    kept.encode()
    assert kept
    assert not {"\x00", "\r", "\u202e", "\ud800"} & set(kept)
