"""What happens at the same moment, or on a full disk, is an answer and not a 500."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import User
from memory.models import Session
from tests.gateway.api.conftest import Client, asked
from tools.services import approval


def test_a_decision_about_a_session_that_is_deleted_meanwhile(
    alice: Any, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (question,) = asked(alice, session)
    judged = approval._allowed_changes

    def delete_first(*given: Any) -> Any:
        Session.objects.filter(pk=session.pk).delete()
        return judged(*given)

    monkeypatch.setattr(approval, "_allowed_changes", delete_first)
    answer = Client(alice).post(f"approvals/{question.pk}/decide", {"decision": "allow"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_full_disk(alice: Any, valkey: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any, **more: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("memory.services.attachment.os.open", full)
    answer = Client(alice).post(
        "files", {"file": SimpleUploadedFile("a.txt", b"hello")}, format="multipart"
    )
    assert (answer.status_code, answer.json()["code"]) == (507, "storage_full")


def test_two_sign_ups_with_one_address(
    client: Any, db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HERMES_SIGNUP = "open"
    from accounts.adapter import AccountAdapter

    saved = AccountAdapter.save_user

    def save_after_the_other(self: Any, request: Any, user: Any, *given: Any, **more: Any) -> Any:
        User.objects.create_user("eve@example.com", None)
        return saved(self, request, user, *given, **more)

    monkeypatch.setattr(AccountAdapter, "save_user", save_after_the_other)
    word = "correct horse battery staple"
    answer = client.post(
        "/accounts/signup/", {"email": "eve@example.com", "password1": word, "password2": word}
    )
    assert answer.status_code == 409
    assert "Log in" in answer.content.decode()


def test_a_host_that_is_none_is_refused_in_json(alice: Any, client: Any, valkey: Any) -> None:
    answer = Client(alice).get("me", HTTP_HOST="|")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert "<html" in client.get("/", HTTP_HOST="|").content.decode()
