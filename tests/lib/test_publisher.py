"""Publishing against a real Valkey: numbers, order, fences, merging, and the text beside it."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from hermes_site.lib import events
from hermes_site.lib.ids import new_id
from hermes_site.lib.publisher import LiveText, LoopPublisher, Outgoing, publish
from hermes_site.lib.redis import client, fence_key, partial_key, stream_key


def stream(session: Any) -> list[dict[str, Any]]:
    return [orjson.loads(fields[b"e"]) for _, fields in client().xrange(stream_key(session))]


def test_numbers_grow_and_fit_into_javascript(valkey: Any) -> None:
    session = new_id()
    items = [Outgoing(session, None, "run.queued", {"n": n}, row=n) for n in range(1, 50)]
    numbers = publish(items)
    ordered = [numbers[n] for n in range(1, 50)]
    assert ordered == sorted(set(ordered))
    assert ordered[-1] < 2**53
    assert [event["data"]["n"] for event in stream(session)] == list(range(1, 50))


@pytest.mark.parametrize("text", ["1712345678901-0", "1712345678901-1023"])
def test_a_number_and_a_stream_id_are_the_same_thing(text: str) -> None:
    assert events.stream_id(events.seq_of(text)) == text


def test_every_key_has_an_expiry(valkey: Any) -> None:
    session, live = new_id(), LiveText(new_id(), 1)
    publish([Outgoing(session, new_id(), "message.delta", {"text": "x"}, live=live)])
    publish([Outgoing(session, None, "run.queued", {}, row=1)])
    assert all(client().ttl(key) > 0 for key in client().scan_iter())


def test_a_stale_workers_delta_is_refused(valkey: Any) -> None:
    session, run = new_id(), new_id()
    client().set(fence_key(session, run), 2, ex=60)
    stale, fresh = LiveText(new_id(), 1), LiveText(new_id(), 2)
    publish([Outgoing(session, run, "message.delta", {"text": "old"}, live=stale)])
    publish([Outgoing(session, run, "message.delta", {"text": "new"}, live=fresh)])
    assert [event["data"]["text"] for event in stream(session)] == ["new"]
    assert client().get(partial_key(session, stale.message_id)) is None


async def test_deltas_merge_in_order_and_the_text_is_kept(valkey: Any) -> None:
    session, run, numbered = new_id(), new_id(), {}
    live = LiveText(new_id(), 1)
    publisher = LoopPublisher(numbered.update)
    for part in ("你好", ", ", "world", "!"):
        live.text += part
        publisher.send([Outgoing(session, run, "message.delta", {"text": part}, live=live)])
    publisher.send([Outgoing(session, run, "run.completed", {}, row=7)])
    await publisher.flushed(5)
    await publisher.close()
    sent = stream(session)
    assert [event["type"] for event in sent] == ["message.delta", "run.completed"]
    assert sent[0]["data"] == {"text": "你好, world!", "offset": 0}
    assert client().get(partial_key(session, live.message_id)).decode() == "你好, world!"
    assert set(numbered) == {7}


async def test_offsets_count_characters(valkey: Any) -> None:
    session, run, live = new_id(), new_id(), LiveText(new_id(), 1)
    publisher = LoopPublisher(lambda numbers: None)
    for part in ("a𝄞", "好"):
        live.text += part
        publisher.send([Outgoing(session, run, "message.delta", {"text": part}, live=live)])
        await publisher.flushed(5)
    await publisher.close()
    assert [event["data"]["offset"] for event in stream(session)] == [0, 2]


async def test_a_flushed_redis_gets_the_whole_text_again(valkey: Any) -> None:
    session, run, live = new_id(), new_id(), LiveText(new_id(), 1)
    publisher = LoopPublisher(lambda numbers: None)
    for part in ("one ", "two ", "three "):
        live.text += part
        publisher.send([Outgoing(session, run, "message.delta", {"text": part}, live=live)])
        await publisher.flushed(5)
        if part == "two ":
            client().flushall()
    await publisher.close()
    assert client().get(partial_key(session, live.message_id)) == b"one two three "
    assert client().ttl(partial_key(session, live.message_id)) > 0


async def test_events_wait_for_a_redis_that_is_away(valkey: Any) -> None:
    session, run, live = new_id(), new_id(), LiveText(new_id(), 1)
    publisher = LoopPublisher(lambda numbers: None)
    valkey.kill()
    for part in ("a", "b", "c"):
        live.text += part
        publisher.send([Outgoing(session, run, "message.delta", {"text": part}, live=live)])
        await asyncio.sleep(0.05)
    valkey.start()
    await publisher.flushed(10)
    await publisher.close()
    assert "".join(event["data"]["text"] for event in stream(session)) == "abc"


def test_an_event_never_grows_beyond_its_limit() -> None:
    small = orjson.loads(events.encode("x", "s", None, {"text": "你" * 1000}))
    assert small["data"] == {"text": "你" * 1000}
    messages = [{"id": str(n), "text": "你" * 20_000} for n in range(50)]
    payload = events.encode("session.snapshot", "s", None, {"messages": messages, "live": None})
    assert len(payload) <= events.MAX_EVENT
    data = orjson.loads(payload)["data"]
    assert data["truncated"] is True
    assert [message["id"] for message in data["messages"]] == [str(n) for n in range(50)]
    assert data["messages"][0]["text"].startswith("你" * 100)
