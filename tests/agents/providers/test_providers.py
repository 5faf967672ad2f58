"""What every wire format must do, against a server that speaks it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.providers.base import (
    ChatMessage,
    ModelError,
    Provider,
    TextDelta,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from tests.agents.providers.conftest import KEY, TOOLS, listen, request
from tests.fakes.llm_wire import (
    anthropic_answer,
    anthropic_events,
    dumps,
    openai_answer,
    openai_events,
)
from tests.fakes.scripted_llm import ScriptedLLM, calls, cut, empty, hang, raw_sse, status, text
from tests.fakes.servers import free_port

Connect = Callable[..., Provider]
BURST = [("web_fetch", {"u": 1}), ("web_fetch", {"u": 2}), ("web_search", {"q": 'é "}{'})]


async def test_text_usage_and_end(kind: str, connect: Connect) -> None:
    with ScriptedLLM(text("Grüße, 世界! 🎉", size=1), strict=True) as llm:
        heard = await listen(connect(kind, llm), request())
        sent = llm.bodies[0]
    assert (heard.text, heard.finish, heard.error) == ("Grüße, 世界! 🎉", "stop", None)
    assert heard.usage == Usage(7, 5)
    assert (sent["model"], sent["stream"]) == ("a-model", True)


async def test_the_key_goes_into_the_header_and_nowhere_else(kind: str, connect: Connect) -> None:
    with ScriptedLLM(text("ok")) as llm:
        provider = connect(kind, llm)
        await listen(provider, request())
        recorded = llm.requests[0]
    assert KEY in str(recorded.headers)
    assert KEY not in recorded.raw.decode()
    assert KEY not in repr(provider) + repr(provider.account) + repr(vars(provider))


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_parallel_calls(kind: str, connect: Connect, size: int) -> None:
    with ScriptedLLM(calls(BURST, text="I look.", size=size), strict=True) as llm:
        heard = await listen(connect(kind, llm), request())
    assert [(call.name, call.arguments) for call in heard.calls] == BURST
    assert (heard.text, heard.finish) == ("I look.", "tool_calls")
    assert len({call.id for call in heard.calls}) == 3


async def test_one_connection_for_answers_in_turn(kind: str, connect: Connect) -> None:
    with ScriptedLLM(text("1"), calls(BURST), text("3"), strict=True) as llm:
        provider = connect(kind, llm)
        for _ in range(3):
            assert (await listen(provider, request())).error is None
        assert llm.connections == 1


async def test_an_empty_answer_ends_without_parts(kind: str, connect: Connect) -> None:
    with ScriptedLLM(empty()) as llm:
        heard = await listen(connect(kind, llm), request())
    assert (heard.text, heard.calls, heard.finish) == ("", [], "stop")


async def test_the_first_answers_at_once_share_one_client(kind: str, connect: Connect) -> None:
    with ScriptedLLM(*[text("ok")] * 5, strict=True) as llm:
        provider = connect(kind, llm)
        heard = await asyncio.gather(*(listen(provider, request()) for _ in range(5)))
        assert [one.text for one in heard] == ["ok"] * 5
        client = vars(provider)["_client"]
        assert await provider.models() == ["scripted"]
        assert vars(provider)["_client"] is client


async def test_a_cancelled_answer_hangs_up(kind: str, connect: Connect) -> None:
    with ScriptedLLM(text("word " * 1000, pause=0.01)) as llm:
        provider, begun = connect(kind, llm), asyncio.Event()

        async def read() -> None:
            async for part in provider.stream(request()):
                if isinstance(part, TextDelta):
                    begun.set()

        reading = asyncio.create_task(read())
        await asyncio.wait_for(begun.wait(), 10)
        assert llm.open_connections == 1
        reading.cancel()
        await asyncio.wait([reading])
        for _ in range(500):
            if not llm.open_connections:
                break
            await asyncio.sleep(0.02)
        assert llm.open_connections == 0


async def test_models_of_a_server_that_is_not_there(kind: str, connect: Connect) -> None:
    with pytest.raises(ModelError) as refused:
        await connect(kind, f"http://127.0.0.1:{free_port()}/v1").models()
    assert refused.value.code == "unreachable"


async def test_lists_models(kind: str, connect: Connect) -> None:
    with ScriptedLLM() as llm:
        assert await connect(kind, llm).models() == ["scripted"]


STATUSES = [
    (401, {}, {}, "auth", False, None),
    (402, {}, {}, "rate_limited", False, None),
    (403, {}, {}, "auth", False, None),
    (404, {}, {}, "not_found", False, None),
    (408, {}, {}, "rate_limited", True, None),
    (409, {}, {}, "rate_limited", True, None),
    (429, {"retry-after": "7"}, {}, "rate_limited", True, 7.0),
    (429, {"retry-after-ms": "1500"}, {}, "rate_limited", True, 1.5),
    (429, {"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, {}, "rate_limited", True, 0.0),
    (429, {"retry-after": "soon"}, {}, "rate_limited", True, None),
    (429, {}, {"error": {"code": "insufficient_quota"}}, "rate_limited", False, None),
    (500, {}, {}, "overloaded", True, None),
    (503, {"retry-after": "2"}, {}, "overloaded", True, 2.0),
    (529, {}, {}, "overloaded", True, None),
    (400, {}, {}, "bad_request", False, None),
    (422, {}, {"detail": [{"msg": "no"}]}, "bad_request", False, None),
    (400, {}, {"error": {"code": "context_length_exceeded"}}, "context_overflow", False, None),
    (400, {}, {"error": {"message": "prompt is too long: 9 > 8"}}, "context_overflow", False, None),
    (
        400,
        {},
        {"error": {"message": "This model's maximum context length is 8192 tokens."}},
        "context_overflow",
        False,
        None,
    ),
    (500, {}, {"error": {"type": "exceed_context_size_error"}}, "context_overflow", False, None),
    (413, {}, {}, "context_overflow", False, None),
    (307, {"location": "/elsewhere"}, {}, "bad_request", False, None),
]


@pytest.mark.parametrize(("code", "headers", "body", "expected", "retry", "after"), STATUSES)
async def test_statuses(
    kind: str,
    connect: Connect,
    code: int,
    headers: dict[str, str],
    body: dict[str, Any],
    expected: str,
    retry: bool,
    after: float | None,
) -> None:
    # Strict: a retry of the SDK's own would be a request too many.
    with ScriptedLLM(status(code, headers, body), strict=True) as llm:
        heard = await listen(connect(kind, llm), request())
    assert heard.error is not None
    found = heard.error.code, heard.error.retry, heard.error.retry_after
    assert found == (expected, retry, after)


@pytest.mark.parametrize("code", [400, 403, 404, 429, 500])
async def test_an_echoed_key_is_taken_out(kind: str, connect: Connect, code: int) -> None:
    said = f"bad key {KEY} or sk-other-abcdefgh, Bearer zzz-top-secret, see the manual"
    with ScriptedLLM(status(code, {}, {"error": {"message": said}})) as llm:
        heard = await listen(connect(kind, llm), request())
    assert heard.error is not None
    assert "see the manual" in heard.error.message
    for secret in (KEY, "sk-other", "zzz-top"):
        assert secret not in heard.error.message
    assert heard.error.__suppress_context__


async def test_unreachable(kind: str, connect: Connect) -> None:
    heard = await listen(connect(kind, f"http://127.0.0.1:{free_port()}/v1"), request())
    assert heard.error is not None
    assert (heard.error.code, heard.error.retry) == ("unreachable", True)


@pytest.mark.parametrize("head", [True, False])
async def test_a_silent_server_times_out(
    kind: str, connect: Connect, head: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.wire.client.STALE_SECONDS", 0.2)
    with ScriptedLLM(hang(30, head=head)) as llm:
        heard = await listen(connect(kind, llm), request())
    assert heard.error is not None
    assert (heard.error.code, heard.error.retry) == ("timeout", True)


@pytest.mark.parametrize("after", [0, 1, 5, 90, 150, 300, 500])
async def test_a_broken_connection_is_a_cut(kind: str, connect: Connect, after: int) -> None:
    with ScriptedLLM(cut(after)) as llm:
        heard = await listen(connect(kind, llm), request())
    assert heard.error is not None
    assert (heard.error.code, heard.error.retry, heard.finish) == ("cut", True, "")


async def test_a_stream_that_just_ends_is_a_cut(kind: str, connect: Connect) -> None:
    with ScriptedLLM(raw_sse(b""), raw_sse(b": nothing\n\n")) as llm:
        provider = connect(kind, llm)
        for _ in range(2):
            heard = await listen(provider, request())
            assert heard.error is not None
            assert heard.error.code == "cut"


async def test_no_json_in_the_stream_is_a_cut(kind: str, connect: Connect) -> None:
    with ScriptedLLM(raw_sse(b'data: {"type": "mess\n\ndata: [DONE]\n\n')) as llm:
        heard = await listen(connect(kind, llm), request())
    assert heard.error is not None
    assert (heard.error.code, heard.error.retry) == ("cut", True)


async def test_a_web_page_is_a_wrong_address(kind: str, connect: Connect) -> None:
    with ScriptedLLM(raw_sse(b"<html>Welcome</html>", kind="text/html; charset=utf-8")) as llm:
        heard = await listen(connect(kind, llm), request())
    assert heard.error is not None
    assert (heard.error.code, heard.error.retry) == ("not_found", False)


@pytest.mark.parametrize(
    ("facts", "expected", "retry"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded", True),
        ({"type": "rate_limit_error", "message": "Slow down"}, "rate_limited", True),
        ({"code": 429, "message": "Slow down"}, "rate_limited", True),
        ({"code": "502", "message": "Bad gateway"}, "overloaded", True),
        ({"type": "authentication_error", "message": "no"}, "auth", False),
        ({"type": "invalid_request_error", "message": "no"}, "bad_request", False),
        ({"type": "invalid_request_error", "message": "context window"}, "context_overflow", False),
        ({"message": f"what {KEY}"}, "overloaded", True),
        (f"plain text {KEY}", "overloaded", True),
    ],
)
async def test_errors_inside_the_stream(
    kind: str, connect: Connect, facts: object, expected: str, retry: bool
) -> None:
    data = b"event: error\ndata: " + dumps({"type": "error", "error": facts}) + b"\n\n"
    with ScriptedLLM(raw_sse(data)) as llm:
        heard = await listen(connect(kind, llm), request())
    assert heard.error is not None
    assert (heard.error.code, heard.error.retry) == (expected, retry)
    assert KEY not in heard.error.message


async def test_a_redirect_does_not_carry_the_key_away(kind: str, connect: Connect) -> None:
    with (
        ScriptedLLM() as other,
        ScriptedLLM(
            status(307, {"location": f"{other.openai_url}/chat/completions"}),
        ) as llm,
    ):
        heard = await listen(connect(kind, llm), request())
        assert other.requests == []
    assert heard.error is not None


async def test_lone_surrogates_leave_as_replacement_characters(kind: str, connect: Connect) -> None:
    call = ToolCallPart("id", "read_file", {"path": "a\ud800", "n": 10**30})
    history = (
        ChatMessage("user", "x\udc00y"),
        ChatMessage("assistant", "\ud83d", (call,), (ToolResultPart("id", "f", "z\ud801"),)),
    )
    with ScriptedLLM(text("ok"), strict=True) as llm:
        heard = await listen(connect(kind, llm), request(*history, system="s\ud800"))
        raw = llm.requests[0].raw.decode()
    assert heard.error is None
    for kept in ("x\ufffdy", "z\ufffd", "a\ufffd", "s\ufffd"):
        assert kept in raw.replace("\\\\", "\\").replace("\\ufffd", "\ufffd")


async def test_surrogates_in_the_answer(kind: str, connect: Connect) -> None:
    halves = ("a\\ud83d", "\\ude00b", "\\ud800", "c")
    if kind == "openai":
        lines = [f'{{"choices":[{{"delta":{{"content":"{half}"}}}}]}}' for half in halves]
        lines.append('{"choices":[{"finish_reason":"stop"}]}')
    else:
        delta = (
            '{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{}"}}}}'
        )
        lines = [delta.format(half) for half in halves] + ['{"type":"message_stop"}']
    data = "".join(f"data: {line}\n\n" for line in lines).encode()
    with ScriptedLLM(raw_sse(data)) as llm:
        heard = await listen(connect(kind, llm), request())
    assert heard.text == "a😀b\ufffdc"


async def test_byte_by_byte(kind: str, connect: Connect) -> None:
    events = (openai_events if kind == "openai" else anthropic_events)("héllo", BURST)
    with ScriptedLLM(raw_sse(b"".join(events), chunk=1)) as llm:
        heard = await listen(connect(kind, llm), request())
    assert heard.text == "héllo"
    assert [(call.name, call.arguments) for call in heard.calls] == BURST


async def test_an_answer_in_plain_json(kind: str, connect: Connect) -> None:
    whole = (openai_answer if kind == "openai" else anthropic_answer)("hello", BURST)
    with ScriptedLLM(raw_sse(dumps(whole), kind="application/json")) as llm:
        heard = await listen(connect(kind, llm), request())
    assert (heard.text, heard.finish, heard.usage) == ("hello", "tool_calls", Usage(7, 5))
    assert [(call.name, call.arguments) for call in heard.calls] == BURST


@pytest.mark.parametrize(
    "history",
    [
        (),
        (ChatMessage("user", " "),),
        (ChatMessage("system", "x"),),
        (ChatMessage("user", "x", results=(ToolResultPart("a", "f", ""),)),),
        (ChatMessage("assistant", "x", (ToolCallPart("a", "f", {}),)),),
        (ChatMessage("assistant", "x", (), (ToolResultPart("a", "f", ""),)),),
        (
            ChatMessage(
                "assistant",
                "x",
                (ToolCallPart("a", "f", {}), ToolCallPart("a", "f", {})),
                (ToolResultPart("a", "f", ""), ToolResultPart("a", "f", "")),
            ),
        ),
        (
            ChatMessage(
                "assistant", "", (ToolCallPart("", "f", {}),), (ToolResultPart("", "f", ""),)
            ),
        ),
    ],
)
async def test_a_history_that_is_not_valid_is_not_sent(
    kind: str, connect: Connect, history: tuple[ChatMessage, ...]
) -> None:
    with ScriptedLLM(strict=True) as llm:
        heard = await listen(connect(kind, llm), replace(request(), messages=history))
        assert llm.requests == []
    assert heard.error is not None
    assert (heard.error.code, heard.error.retry) == ("bad_request", False)


def _bench_server() -> Path:
    """The load tests' model server, kept beside the repository where it is there."""
    beside = Path(__file__).resolve().parents[3].parent / "shared"
    return Path(os.environ.get("HERMES_SHARED", beside)) / "bench" / "fake_llm.py"


@pytest.fixture(params=["scripted", "bench"] if _bench_server().exists() else ["scripted"])
def server(request: pytest.FixtureRequest) -> Iterator[ScriptedLLM | str]:
    """Two servers written apart from one another, where both are there."""
    if request.param == "scripted":
        with ScriptedLLM(calls([("read_file", {"path": "a"})]), text("one two")) as llm:
            yield llm
        return
    port = free_port()
    command = [sys.executable, str(_bench_server()), "--port", str(port), "--ttft", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield f"http://127.0.0.1:{port}/v1"
        process.terminate()


async def test_a_tool_turn_and_the_answer(
    kind: str, connect: Connect, server: ScriptedLLM | str
) -> None:
    provider = connect(kind, server)
    question = ChatMessage("user", '[[tool:read_file {"path": "a"}]][[say:one two]][[r:0]]')
    heard = await listen(provider, request(question))
    assert [(call.name, call.arguments) for call in heard.calls] == [("read_file", {"path": "a"})]
    call = heard.calls[0]
    answer = ChatMessage("assistant", "", (call,), (ToolResultPart(call.id, call.name, "text"),))
    heard = await listen(provider, request(question, answer))
    assert (heard.text, heard.finish, heard.error) == ("one two", "stop", None)
    assert heard.usage is not None
    assert heard.usage.output_tokens > 0


async def test_tools_are_offered_in_their_order(kind: str, connect: Connect) -> None:
    with ScriptedLLM(text("ok"), text("ok")) as llm:
        provider = connect(kind, llm)
        await listen(provider, request())
        await listen(provider, request(tools=()))
        first, second = llm.bodies
    offered = [tool.get("function", tool) for tool in first["tools"]]
    assert [tool["name"] for tool in offered] == [tool["name"] for tool in TOOLS]
    assert "tools" not in second
