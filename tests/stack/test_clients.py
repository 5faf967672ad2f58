"""What clients of a running portal see: order, resumption, several tabs, and the door shut."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import pytest
import requests
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from hermes_site.lib.redis import stream_key
from tests.fakes.portal import Portal
from tests.stack.client import Person
from tests.stack.plans import LOOK, message

pytestmark = [pytest.mark.stack, pytest.mark.rows]
People = Callable[[str], Person]
WORDS = " ".join(f"word{number}" for number in range(40))


def closed_with(address: str, headers: dict[str, str]) -> int | None:
    """The code with which a socket is closed without having said anything."""
    with connect(address, additional_headers=headers) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=10)
        return closed.value.rcvd.code if closed.value.rcvd else None


def redis_of(portal: Portal) -> object:
    import redis

    from hermes_site.services.valkey import embedded_url

    return redis.Redis.from_url(embedded_url(portal.home))


def test_a_streamed_answer_is_the_saved_one(portal: Portal, person: People) -> None:
    alice = person("auto")
    session = alice.session()
    tab = alice.watch(session)
    assert tab.take()["type"] == "session.snapshot"
    run = alice.say(session, message([], WORDS, 0.01))["run"]
    tab.until("run.completed")
    answer = alice.messages(session)[-1]
    assert (answer["text"], answer["run"]) == (WORDS, run)
    deltas = [e["data"] for e in tab.events if e["type"] == "message.delta"]
    assert "".join(delta["text"] for delta in deltas) == WORDS
    assert len(deltas) > 5
    seqs = [event["seq"] for event in tab.events]
    assert seqs == sorted(seqs)


def test_reconnecting_at_any_place_loses_and_doubles_nothing(
    portal: Portal, person: People
) -> None:
    alice = person("auto")
    session = alice.session()
    flapping, steady = alice.watch(session), alice.watch(session)
    run = alice.say(session, message([], WORDS, 0.02))["run"]
    text: dict[str, str] = {}
    while True:
        event = flapping.take()
        if event["type"] == "message.delta":
            id = event["data"]["message"]
            text[id] = text.get(id, "") + event["data"]["text"]  # as a simple client would
            flapping.reopen()
        if event["type"] == "run.completed":
            break
    steady.until("run.completed")
    answer = alice.messages(session)[-1]
    assert answer["run"] == run
    assert text[answer["id"]] == flapping.texts[answer["id"]] == steady.texts[answer["id"]] == WORDS
    assert (flapping.gaps, steady.gaps) == (0, 0)


def test_a_page_that_comes_late_gets_one_snapshot(portal: Portal, person: People) -> None:
    alice = person("auto")
    session = alice.session()
    early = alice.watch(session)
    alice.say(session, message([], WORDS, 0.03))
    early.until(lambda e: e["type"] == "message.delta" and "word20" in e["data"]["text"])
    late = alice.watch(session)
    snapshot = late.take()
    assert snapshot["type"] == "session.snapshot"
    assert "word10" in snapshot["data"]["live"]["text"]
    late.until("run.completed")
    assert late.texts == {m["id"]: m["text"] for m in alice.messages(session)}
    assert late.gaps == 0


@pytest.mark.parametrize("after", [0, 1])
def test_a_lost_tail_is_made_up_for(portal: Portal, person: People, after: int) -> None:
    alice = person("auto")
    session = alice.session()
    alice.wait(alice.say(session, message([], WORDS))["run"])
    redis_of(portal).delete(stream_key(session))  # type: ignore[attr-defined]
    tab = alice.watch(session, after=after)
    first = tab.take()
    assert first["type"] == "session.snapshot"
    assert tab.texts == {m["id"]: m["text"] for m in alice.messages(session)}


def test_an_idle_session_is_not_told_twice(portal: Portal, person: People) -> None:
    """Its tail has expired; whoever has its newest number needs nothing."""
    alice = person("auto")
    session = alice.session()
    tab = alice.watch(session)
    alice.say(session, message([], "Done"))
    tab.until("run.completed")
    time.sleep(1)  # numbers are written down a moment later
    redis_of(portal).delete(stream_key(session))  # type: ignore[attr-defined]
    again = alice.watch(session, after=tab.seq)
    again.send(type="ping", ref="first")
    assert again.take()["type"] == "pong"
    behind = alice.watch(session, after=tab.events[1]["seq"])
    assert behind.take()["type"] == "session.snapshot"


def test_from_the_beginning_means_every_event(portal: Portal, person: People) -> None:
    alice = person("auto")
    session = alice.session()
    live = alice.watch(session)
    live.take()
    alice.say(session, message([[LOOK]], WORDS))
    live.until("run.completed")
    again = alice.watch(session, after=0)
    again.until("run.completed")
    assert again.events == live.events[1:]


def test_a_flushed_redis_in_mid_stream_loses_no_text(portal: Portal, person: People) -> None:
    alice = person("auto")
    session = alice.session()
    tab = alice.watch(session)
    run = alice.say(session, message([], WORDS, 0.05))["run"]
    tab.until("message.delta")
    redis_of(portal).flushall()  # type: ignore[attr-defined]
    late = alice.watch(session)
    assert alice.wait(run)["state"] == "completed"
    late.until("run.completed")
    tab.until("run.completed")
    answer = alice.messages(session)[-1]
    assert answer["text"] == tab.texts[answer["id"]] == late.texts[answer["id"]] == WORDS


def test_messages_from_three_doors_are_answered_in_order(portal: Portal, person: People) -> None:
    alice = person("auto")
    session = alice.session()
    tab = alice.watch(session)
    doors = [
        lambda text: alice.say(session, text),
        lambda text: tab.send(type="message.send", text=text),
        lambda text: requests.post(
            f"{portal.url}/api/v1/sessions/{session}/messages/",
            json={"text": text},
            headers=alice.headers,
            timeout=20,
        ),
    ]
    senders = [
        threading.Thread(target=doors[number % 3], args=(message([], f"answer {number}"),))
        for number in range(20)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    ended = 0
    while ended < 20:
        ended += tab.take()["type"] == "run.completed"
    said = alice.messages(session)
    assert [m["role"] for m in said] == ["user", "assistant"] * 20
    for question, reply in zip(said[::2], said[1::2], strict=True):
        assert question["run"] == reply["run"]
        assert question["text"].endswith(f"SAY {reply['text']}")
    started = [e["run"] for e in tab.events if e["type"] == "run.started"]
    accepted: dict[str, int] = {}
    for event in tab.events:
        if event["type"] == "message.completed" and event["data"]["role"] == "user":
            accepted.setdefault(event["run"], event["data"]["position"])
    assert started == sorted(accepted, key=lambda run: accepted[run])


def test_a_question_is_asked_and_answered_over_the_websocket(
    portal: Portal, person: People
) -> None:
    alice = person("auto")
    session = alice.session()
    tab, other = alice.watch(session), alice.watch(session)
    tab.send(type="message.send", text="!touch asked", client_id="one")
    asked = tab.until("permission_request")["data"]
    assert (asked["tool"], asked["category"], asked["command"]) == (
        "shell",
        "system",
        "touch asked",
    )
    stranger = person("full-access")
    assert stranger.decide(asked["id"]).status_code == 404
    tab.send(type="approval.decide", id=asked["id"], decision="allow", ref="a")
    other.send(type="approval.decide", id=asked["id"], decision="deny", ref="b")
    resolved = tab.until("permission_resolved")["data"]
    assert resolved["via"] == "websocket"
    loser = other if resolved["decision"] == "allow" else tab
    # Its refusal may have come before the news of the decision.
    lost = next((e for e in loser.events if e["type"] == "error"), None) or loser.until("error")
    lost = lost["data"]
    assert (lost["code"], lost["extra"]["decision"]) == ("settled", resolved["decision"])
    tab.until("run.completed")


def test_stop_ends_stream_and_says_so(portal: Portal, person: People) -> None:
    alice = person("auto")
    session = alice.session()
    tab = alice.watch(session)
    run = alice.say(session, message([], WORDS * 20, 0.05))["run"]
    tab.until(lambda e: e["type"] == "message.delta" and "word5" in e["data"]["text"])
    tab.send(type="run.cancel", run=run)
    tab.until("run.cancelled")
    assert alice.run(run)["state"] == "cancelled"
    answer = alice.messages(session)[-1]
    assert answer["state"] == "interrupted"
    assert answer["text"].startswith("word0 word1")
    assert len(answer["text"]) < len(WORDS) * 5
    assert alice.wait(alice.say(session, message([], "still here"))["run"])["state"] == "completed"


def test_a_disabled_user_is_out_at_once(portal: Portal, person: People) -> None:
    alice = person("auto")
    session = alice.session()
    tab = alice.watch(session)
    run = alice.say(session, message([], WORDS * 20, 0.05))["run"]
    tab.until("message.delta")
    email = alice.call("GET", "me").json()["email"]
    disable = (
        "from accounts.models import User; from accounts.services import user_set_active; "
        f"user_set_active(User.objects.get(email='{email}'), False, actor='test')"
    )
    began = time.monotonic()
    portal.manage("shell", "-c", disable)
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            tab.take()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4403
    assert time.monotonic() - began < 10  # the command itself takes a second or two
    assert alice.call("GET", "me", patient=False).status_code == 401
    portal.manage("shell", "-c", disable.replace("False", "True"))
    assert alice.run(run)["state"] == "cancelled"


@pytest.mark.parametrize(
    "frame", ["", "nonsense", "[]", '{"type": 5}', '{"type": "message.send"}', '{"type": "x"}',
              '{"type": "message.send", "text": {"a": 1}}', '{"type": "approval.decide", "id": 1}',
              '{"type": "run.cancel", "run": "../x"}', "[" * 5000]
)  # fmt: skip
def test_a_malformed_frame_is_answered_and_harms_nothing(
    portal: Portal, person: People, frame: str
) -> None:
    alice = person("auto")
    tab = alice.watch(alice.session())
    tab.take()
    tab.socket.send(frame)
    event = tab.take()
    assert event["type"] == "error"
    assert set(event["data"]) == {"code", "message", "extra"}
    tab.send(type="ping", ref="still there")
    assert tab.take()["data"]["ref"] == "still there"


def test_strangers_and_foreign_origins_get_no_socket(portal: Portal, person: People) -> None:
    alice, mallory = person("auto"), person("full-access")
    session = alice.session()
    address = portal.url.replace("http", "ws") + f"/ws/sessions/{session}/"
    refused = [
        {},
        {"Authorization": "Bearer hp_wrong"},
        mallory.headers,
        {"Origin": "https://evil.example", "Cookie": "hermes_session=x"},
    ]
    for headers in refused:
        assert closed_with(address, headers) in (4401, 4404)
    assert closed_with(f"{address}?after=-1", alice.headers) == 4400
    assert closed_with(address.replace(session, "x"), alice.headers) == 4404
    with pytest.raises(InvalidStatus):
        closed_with(address.replace("sessions", "other"), alice.headers)
    assert mallory.call("GET", f"sessions/{session}/events", patient=False).status_code == 404


def test_sse_tells_the_same_and_resumes(portal: Portal, person: People) -> None:
    alice = person("auto")
    session = alice.session()
    tab = alice.watch(session)
    tab.take()
    run = alice.say(session, message([], WORDS, 0.01))["run"]
    tab.until("run.completed")
    assert run

    def read(headers: dict[str, str]) -> list[dict[str, object]]:
        url = f"{portal.url}/api/v1/sessions/{session}/events"
        found, seq = [], None
        with requests.get(url, headers=alice.headers | headers, stream=True, timeout=20) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            for line in answer.iter_lines():
                if line.startswith(b"id: "):
                    seq = int(line[4:])
                elif line.startswith(b"data: "):
                    found.append(json.loads(line[6:]))
                    assert found[-1]["seq"] == seq
                    if found[-1]["type"] == "run.completed":
                        return found
        return found

    whole = read({"Last-Event-ID": "0"})
    assert whole == tab.events[1:]
    assert read({"Last-Event-ID": str(whole[3]["seq"])}) == whole[4:]
