"""``me``, ``sessions`` and ``tools``: shapes, order, changes, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.services import limit_set
from agents.models import Run
from hermes_site.lib import clock
from memory.models import Message, Session
from memory.services import session_create
from tests.gateway.api.conftest import asked
from tools.models import Approval

pytestmark = pytest.mark.django_db


def test_me_says_who_one_is_and_what_is_left(api: Any, alice: Any, session: Any) -> None:
    limit_set(subject="everyone", action="message", rate="3/m", actor="test")
    api.post(f"sessions/{session.pk}/messages", {"text": "one"})
    me = api.get("me").json()
    assert (me["id"], me["email"], me["level"]) == (str(alice.pk), "alice@example.com", "auto")
    assert (me["is_admin"], me["groups"], me["engine"]) == (False, [], "hermes")
    assert me["modes"] == ["ask", "plan", "code"]
    (minute,) = [r for r in me["limits"] if r["action"] == "message" and r["seconds"] == 60]
    assert (minute["limit"], minute["left"]) == (3, 2)
    assert minute["reset_at"].endswith("Z")


def test_sessions_are_listed_newest_first_page_by_page(api: Any, alice: Any) -> None:
    made = [session_create(alice, title=str(number)) for number in range(5)]
    for number, session in enumerate(made):
        moment = clock.now() - timedelta(minutes=number)
        Session.objects.filter(pk=session.pk).update(last_active_at=moment)
    first = api.get("sessions?limit=3").json()
    assert [s["title"] for s in first["results"]] == ["0", "1", "2"]
    second = api.get(first["next"]).json()
    assert [s["title"] for s in second["results"]] == ["3", "4"]
    assert second["next"] is None
    assert [s["title"] for s in api.get(second["previous"]).json()["results"]] == ["0", "1", "2"]


def test_a_session_is_made_changed_and_read(api: Any) -> None:
    made = api.post("sessions", {"title": "Trip", "mode": "ask", "model": None})
    assert made.status_code == 201
    session = made.json()
    assert (session["title"], session["mode"], session["platform"]) == ("Trip", "ask", "api")
    changes = {"title": "", "tags": ["b", "a", " a "], "archived": True, "pinned": True}
    changed = api.patch(f"sessions/{session['id']}/", {**changes, "model": "openai/x"}).json()
    assert changed["tags"] == ["a", "b"]
    assert (changed["archived"], changed["pinned"], changed["model"]) == (True, True, "openai/x")
    assert api.get(f"sessions/{session['id']}").json() == changed
    assert api.get("sessions?archived=false").json()["results"] == []
    assert len(api.get("sessions?archived=true").json()["results"]) == 1
    assert api.patch(f"sessions/{session['id']}", {"archived": False}).json()["archived"] is False


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"user": "x"}, "user"),
        ({"id": "x"}, "id"),
        ({"message_count": 5}, "message_count"),
        ({"level": "full-access"}, "level"),
        ({"next_position": 1}, "next_position"),
        ({"title": 5}, "title"),
        ({"title": None}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"tags": "a"}, "tags"),
        ({"tags": [1]}, "tags"),
        ({"tags": ["x"] * 21}, "tags"),
        ({"tags": {"a": 1}}, "tags"),
        ({"archived": "yes"}, "archived"),
        ({"pinned": 1}, "pinned"),
        ({"mode": "wild"}, "mode"),
        ({"mode": ["ask"]}, "mode"),
        ({"engine": "nope"}, "nope"),
        ({"model": "anthropic/x"}, "anthropic"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(
    api: Any, session: Any, changes: dict[str, Any], word: str
) -> None:
    before = Session.objects.filter(pk=session.pk).values().get()
    refused = api.patch(f"sessions/{session.pk}", changes)
    assert refused.status_code == 400
    assert word in refused.json()["message"]
    assert Session.objects.filter(pk=session.pk).values().get() == before


def test_deleting_a_session_ends_its_runs_first(api: Any, alice: Any, session: Any) -> None:
    asked(alice, session)
    assert api.get("sessions").json()["results"][0]["running"] is True
    assert api.get("sessions").json()["results"][0]["waiting"] == 1
    deleted = api.delete(f"sessions/{session.pk}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    for model in (Session, Message, Run, Approval):
        assert model.objects.count() == 0
    from accounts.models import AuditEntry

    told = list(AuditEntry.objects.order_by("id").values_list("action", flat=True))
    assert told[-4:] == ["approval.cancelled", "tool.cancelled", "run.cancelled", "session.deleted"]
    assert api.delete(f"sessions/{session.pk}").status_code == 404


def test_tools_come_with_their_outcome_and_why(api: Any) -> None:
    from tools.models import ToolSwitch

    ToolSwitch.objects.create(tool="todo", enabled=False)
    tools = {tool["name"]: tool for tool in api.get("tools").json()["results"]}
    assert "todo" not in tools
    assert (tools["read_file"]["category"], tools["read_file"]["outcome"]) == ("read", "auto")
    assert (tools["shell"]["category"], tools["shell"]["outcome"]) == ("system", "confirm")
    assert tools["shell"]["why"] == "Level auto (own), category system: confirm."
    assert tools["shell"]["schema"]["required"] == ["command"]


@pytest.mark.parametrize("path", ["me", "sessions", "tools", "tokens", "approvals", "files"])
def test_lists_cost_the_same_however_long_they_are(
    api: Any, alice: Any, path: str, django_assert_num_queries: Any
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def grow() -> None:
        session = session_create(alice)
        asked(alice, session)
        Client = type(api)
        Client(alice)

    limit_set(subject="everyone", action="message", rate="1000/m", actor="test")
    grow()
    api.get(path)
    with CaptureQueriesContext(
        connection,
    ) as first:
        assert api.get(path).status_code == 200
    for _ in range(4):
        grow()
    with django_assert_num_queries(len(first)):
        api.get(path)
