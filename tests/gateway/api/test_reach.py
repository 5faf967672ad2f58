"""What a token's scope, a changed password and a large body may reach, whatever the door."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.services import token_create
from gateway.actions import act
from gateway.connections import Connection, _allowed
from tests.gateway.api.conftest import Client, asked
from tools.models import Approval


async def _end(code: int) -> None: ...


@pytest.mark.parametrize("word", ["/approve", "/deny"])
def test_a_command_needs_the_scope_that_its_button_needs(
    alice: Any, session: Any, word: str
) -> None:
    (approval,) = asked(alice, session)
    token, _ = token_create(alice, scopes=["chat"])
    act(alice, token, session.pk, {"type": "message.send", "text": word})
    Client(alice, scopes=["chat"]).post(f"sessions/{session.pk}/messages", {"text": word})
    assert Approval.objects.get(pk=approval.pk).decision is None
    texts = list(session.messages.filter(role="assistant").values_list("text", flat=True))
    assert sum("lacks the scope 'approve'" in text for text in texts) == 2
    act(alice, None, session.pk, {"type": "message.send", "text": word})
    assert Approval.objects.get(pk=approval.pk).decision is not None


def test_a_new_password_ends_the_sockets_of_other_browsers(alice: Any, client: Any) -> None:
    client.force_login(alice)
    key = client.session.session_key
    before, by_token = alice.get_session_auth_hash(), token_create(alice)[0]
    browser = Connection(alice.pk, None, key, before, _end)
    script = Connection(alice.pk, by_token.pk, None, before, _end)
    assert _allowed([browser, script]) == {browser, script}
    alice.set_password("another correct horse")
    alice.save()
    assert _allowed([browser, script]) == {script}
    alice.is_active = False
    alice.save()
    assert _allowed([browser, script]) == set()


def test_a_token_that_may_not_read_gets_no_socket(alice: Any, session: Any) -> None:
    from asgiref.sync import async_to_sync
    from channels.testing import WebsocketCommunicator

    from gateway.consumer import SessionConsumer

    async def closed_with(token: Any) -> Any:
        scope = {"user": alice, "token": token, "url_route": {"kwargs": {"session_id": session.pk}}}

        async def app(inner: Any, receive: Any, send: Any) -> None:
            await SessionConsumer.as_asgi()({**inner, **scope}, receive, send)

        socket = WebsocketCommunicator(app, f"/ws/sessions/{session.pk}/")
        await socket.connect()
        return await socket.receive_output(5)

    token, _ = token_create(alice, scopes=["approve"])
    output = async_to_sync(closed_with)(token)
    assert (output["type"], output["code"]) == ("websocket.close", 4403)


@pytest.mark.parametrize("limit", ["00000002000000", "201", "0", "-1", "1e2", "٣", "9" * 40])
def test_no_page_is_larger_than_the_cap(alice: Any, valkey: Any, limit: str) -> None:
    assert Client(alice).get(f"sessions?limit={limit}").status_code == 400


@pytest.mark.parametrize("days", ["1y", "-5", "999999", "1.5"])
def test_days_that_cannot_be_read_make_no_token(
    alice: Any, client: Any, valkey: Any, days: str
) -> None:
    from accounts.models import ApiToken

    client.force_login(alice)
    page = client.post("/settings/tokens/", {"name": "x", "scopes": ["read"], "days": days})
    assert "Days must be a whole number." in page.content.decode()
    assert not ApiToken.objects.exists()
