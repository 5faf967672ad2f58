"""Saying something, reading it back, and saying it again on a new branch."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.services import limit_set
from agents.models import Run
from agents.services import run_begin
from memory.models import Message
from tests.gateway.api.conftest import answered, asked
from tools.models import Approval, ToolCall

pytestmark = [pytest.mark.django_db, pytest.mark.rows]


def texts(api: Any, session: Any, query: str = "") -> list[str]:
    found = api.get(f"sessions/{session.pk}/messages{query}").json()
    return [message["text"] for message in found["results"]]


def test_a_message_is_accepted_and_its_run_can_be_followed(api: Any, session: Any) -> None:
    said = api.post(f"sessions/{session.pk}/messages", {"text": "hello", "client_id": "c1"})
    assert said.status_code == 202
    assert set(said.json()) == {"message", "run"}
    (message,) = api.get(f"sessions/{session.pk}/messages/").json()["results"]
    assert message["id"] == said.json()["message"]
    assert message["run"] == said.json()["run"]
    assert (message["role"], message["text"], message["client_id"]) == ("user", "hello", "c1")
    assert (message["state"], message["active"], message["tool_calls"]) == ("completed", True, [])
    run = api.get(f"runs/{said.json()['run']}").json()
    assert (run["state"], run["message"], run["answer"]) == ("queued", message["id"], None)
    assert (run["surface"], run["engine"], run["error"]) == ("api", "hermes", None)


def test_the_same_client_id_is_one_message(api: Any, session: Any) -> None:
    body = {"text": "hello", "client_id": "c1"}
    first = api.post(f"sessions/{session.pk}/messages", body)
    again = api.post(f"sessions/{session.pk}/messages", {**body, "text": "other"})
    assert (again.status_code, again.json()) == (202, first.json())
    assert (Message.objects.count(), Run.objects.count()) == (1, 1)


def test_options_reach_the_run(api: Any, owned: Any) -> None:
    body = {"text": "look", "skills": ["a"], "explicitSkill": "b", "files": [str(owned.file.pk)]}
    body |= {"mode": "plan", "model": "openai/other", "engine": "hermes"}
    said = api.post(f"sessions/{owned.session.pk}/messages", body)
    run = Run.objects.get(pk=said.json()["run"])
    assert run.options == {"skills": ["a"], "explicitSkill": "b", "files": [str(owned.file.pk)]}
    assert (run.mode, run.model) == ("plan", "openai/other")
    assert api.get(f"messages/{run.message_id}").json()["files"] == [str(owned.file.pk)]


def test_a_file_of_somebody_else_cannot_be_attached(stranger: Any, carol: Any, owned: Any) -> None:
    session = stranger.post("sessions", {}).json()["id"]
    body = {"text": "look", "files": [str(owned.file.pk)]}
    assert stranger.post(f"sessions/{session}/messages", body).status_code == 404
    assert Message.objects.filter(user=carol).count() == 0


def test_history_is_paged_in_both_directions(api: Any, alice: Any, session: Any) -> None:
    for number in range(3):
        answered(alice, session, f"q{number}", f"a{number}")
    assert texts(api, session) == ["q0", "a0", "q1", "a1", "q2", "a2"]
    page = api.get(f"sessions/{session.pk}/messages?limit=4").json()
    assert [m["text"] for m in page["results"]] == ["q0", "a0", "q1", "a1"]
    assert [m["text"] for m in api.get(page["next"]).json()["results"]] == ["q2", "a2"]
    newest = api.get(f"sessions/{session.pk}/messages?order=newest&limit=2").json()["results"]
    assert [m["text"] for m in newest] == ["a2", "q2"]
    before = f"?order=newest&limit=2&before={newest[-1]['position']}"
    assert texts(api, session, before) == ["a1", "q1"]


def test_calls_are_shown_with_their_message(api: Any, alice: Any, session: Any) -> None:
    asked(alice, session, ("shell", {"command": "rm \u202e x"}), ("current_time", {}))
    message = api.get(f"sessions/{session.pk}/messages").json()["results"][-1]
    shell, look = message["tool_calls"]
    assert (shell["name"], shell["category"], shell["outcome"]) == ("shell", "system", "confirm")
    assert shell["arguments"] == {"command": "rm \\u{202e} x"}
    assert (shell["state"], shell["result"]) == ("waiting", "")
    assert shell["why"].startswith("Level auto (own), category system: confirm.")
    assert (look["name"], look["state"]) == ("current_time", "pending")


def test_history_costs_the_same_however_long_it_is(
    api: Any, alice: Any, session: Any, django_assert_num_queries: Any
) -> None:
    limit_set(subject="everyone", action="message", rate="1000/m", actor="test")
    asked(alice, session)
    api.get("me")
    for _ in range(2):
        # The token, the session, the messages, their calls.
        with django_assert_num_queries(4):
            api.get(f"sessions/{session.pk}/messages")
        for _ in range(5):
            asked_in_turn(alice, session)


def asked_in_turn(user: Any, session: Any) -> None:
    from agents.services import run_cancel

    for run in Run.objects.filter(session=session, state="waiting"):
        run_cancel(run, by=user, via="test")
    asked(user, session)


def test_an_edit_makes_a_branch_and_keeps_the_old_one(api: Any, alice: Any, session: Any) -> None:
    first = answered(alice, session, "q1", "a1")
    second = answered(alice, session, "q2", "a2")
    edited = api.post(f"messages/{second.message_id}/edit", {"text": "q2 better"})
    assert edited.status_code == 202
    assert edited.json()["message"] != str(second.message_id)
    run_begin(Run.objects.get(pk=edited.json()["run"]).pk, "worker")
    assert texts(api, session) == ["q1", "a1", "q2 better"]
    assert texts(api, session, "?branch=all") == ["q1", "a1", "q2", "a2", "q2 better"]
    every = api.get(f"sessions/{session.pk}/messages?branch=all").json()["results"]
    parents = {m["text"]: m["parent"] for m in every}
    answer = str(Message.objects.get(run_id=first.pk, role="assistant").pk)
    assert parents["q2"] == parents["q2 better"] == answer
    assert [m["text"] for m in every if not m["active"]] == ["q2", "a2"]


def test_the_first_message_can_be_edited_too(api: Any, alice: Any, session: Any) -> None:
    first = answered(alice, session, "q1", "a1")
    edited = api.post(f"messages/{first.message_id}/edit", {"text": "new start"}).json()
    run_begin(Run.objects.get(pk=edited["run"]).pk, "worker")
    assert texts(api, session) == ["new start"]
    assert Message.objects.get(pk=edited["message"]).parent_id is None


def test_an_old_branch_can_be_taken_up_again(api: Any, alice: Any, session: Any) -> None:
    answered(alice, session, "q1", "a1")
    old = answered(alice, session, "q2", "a2")
    older_answer = Message.objects.get(run_id=old.pk, role="assistant")
    first = Message.objects.get(text="q1")
    other = api.post(f"messages/{first.pk}/edit", {"text": "elsewhere"}).json()
    finish(other["run"], "there")
    assert texts(api, session) == ["elsewhere", "there"]
    again = api.post(f"messages/{older_answer.pk}/regenerate", {})
    assert again.status_code == 202
    finish(again.json()["run"], "a2 again")
    assert texts(api, session) == ["q1", "a1", "q2", "a2 again"]
    assert len(texts(api, session, "?branch=all")) == 8


def finish(run: str, answer: str) -> None:
    from agents.loop import Answer
    from agents.services import turn_save

    work = run_begin(Run.objects.get(pk=run).pk, "worker")
    assert work is not None
    turn_save(work.lease, Answer(text=answer), "openai/test")


@pytest.mark.parametrize("which", ["question", "answer"])
def test_regenerating_asks_the_same_again(api: Any, alice: Any, session: Any, which: str) -> None:
    run = answered(alice, session, "q1", "a1")
    Run.objects.filter(pk=run.pk).update(options={"skills": ["x"]})
    role = "user" if which == "question" else "assistant"
    message = Message.objects.get(run_id=run.pk, role=role)
    again = api.post(f"messages/{message.pk}/regenerate").json()
    new = Run.objects.get(pk=again["run"])
    assert (new.message.text, new.options) == ("q1", {"skills": ["x"]})
    finish(again["run"], "a1 again")
    assert texts(api, session) == ["q1", "a1 again"]


def test_an_allowed_call_is_asked_about_anew_on_the_new_branch(
    api: Any, alice: Any, session: Any
) -> None:
    (approval,) = asked(alice, session)
    assert api.post(f"approvals/{approval.pk}/decide", {"decision": "allow"}).status_code == 200
    ToolCall.objects.update(state="completed")
    Run.objects.update(state="completed")
    again = api.post(f"messages/{Message.objects.get(role='user').pk}/regenerate").json()
    from agents.loop import Answer
    from agents.providers.base import ToolCallPart
    from agents.services import turn_save

    work = run_begin(Run.objects.get(pk=again["run"]).pk, "worker")
    assert work is not None
    part = ToolCallPart("c0", "shell", {"command": "touch made"})
    turn_save(work.lease, Answer(calls=[part]), "openai/test")
    assert Approval.objects.filter(decision=None).count() == 1


def test_an_edit_with_the_same_client_id_is_one(api: Any, alice: Any, session: Any) -> None:
    run = answered(alice, session)
    body = {"text": "again", "client_id": "e1"}
    first = api.post(f"messages/{run.message_id}/edit", body)
    assert api.post(f"messages/{run.message_id}/edit", body).json() == first.json()
    assert Run.objects.count() == 2


def test_branches_wait_for_the_open_run(api: Any, alice: Any, session: Any) -> None:
    run = answered(alice, session)
    said = api.post(f"sessions/{session.pk}/messages", {"text": "next"}).json()
    for path, body in (("edit", {"text": "x"}), ("regenerate", {})):
        refused = api.post(f"messages/{run.message_id}/{path}", body)
        assert (refused.status_code, refused.json()["code"]) == (409, "run_open")
        assert refused.json()["extra"] == {"run": said["run"], "state": "queued"}
    assert Message.objects.count() == 3


def test_what_cannot_be_branched_says_so(api: Any, alice: Any, session: Any) -> None:
    run = answered(alice, session)
    answer = Message.objects.get(run_id=run.pk, role="assistant")
    for path, body in (
        (f"messages/{answer.pk}/edit", {"text": "I said so"}),
        (f"messages/{run.message_id}/edit", {"text": "/help"}),
        (f"messages/{run.message_id}/edit", {"text": "  "}),
        (f"messages/{run.message_id}/edit", {}),
        (f"messages/{run.message_id}/edit", {"text": "x", "parent": None}),
        (f"messages/{run.message_id}/regenerate", {"text": "x"}),
    ):
        assert api.post(path, body).status_code == 400, path
    assert (Message.objects.count(), Message.objects.filter(active=True).count()) == (2, 2)


def test_a_run_is_stopped_once(api: Any, session: Any) -> None:
    run = api.post(f"sessions/{session.pk}/messages", {"text": "hello"}).json()["run"]
    stopped = api.post(f"runs/{run}/cancel")
    assert (stopped.status_code, stopped.json()["state"]) == (200, "cancelled")
    again = api.post(f"runs/{run}/cancel", {})
    assert (again.status_code, again.json()["extra"]) == (409, {"state": "cancelled"})


def test_a_run_is_steered(api: Any, session: Any) -> None:
    run = api.post(f"sessions/{session.pk}/messages", {"text": "hello"}).json()["run"]
    steered = api.post(f"runs/{run}/steer", {"text": "in French"})
    assert (steered.status_code, steered.json()["run"]) == (202, run)
    assert Message.objects.get(pk=steered.json()["message"]).text == "in French"
    api.post(f"runs/{run}/cancel")
    assert api.post(f"runs/{run}/steer", {"text": "too late"}).status_code == 409


def test_a_failed_run_says_why(api: Any, session: Any) -> None:
    run = api.post(f"sessions/{session.pk}/messages", {"text": "hello"}).json()["run"]
    Run.objects.update(state="failed", error_code="no_model", error_message="No model.")
    found = api.get(f"runs/{run}").json()
    assert found["error"] == {"code": "no_model", "message": "No model."}
