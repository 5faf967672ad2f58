"""The audit trail: nobody changes it, and if somebody does, it shows."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry
from accounts.services import audit_record, audit_verify

LIST = "admin:accounts_auditentry_changelist"
pytestmark = pytest.mark.rows


@pytest.fixture
def trail(db: None) -> list[AuditEntry]:
    return [
        audit_record("user.level", actor="root", target="alice@example.com", data={"to": "auto"}),
        audit_record("tool.completed", actor="alice@example.com", target="call 1", via="web"),
        audit_record("user.disabled", actor="root", target="=HYPERLINK(1)"),
    ]


def refused(act: Any) -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        act()


def test_rows_cannot_be_changed_or_deleted_by_models(trail: list[AuditEntry]) -> None:
    entry = trail[1]
    entry.actor = "mallory"
    refused(entry.save)
    refused(entry.delete)
    refused(lambda: AuditEntry.objects.update(actor="mallory"))
    refused(lambda: AuditEntry.objects.all().delete())
    assert audit_verify() is None
    assert AuditEntry.objects.count() == 3


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_auditentry SET actor = 'mallory'",
        "UPDATE accounts_auditentry SET id = id + 100",
        "DELETE FROM accounts_auditentry",
    ],
)
def test_rows_cannot_be_changed_or_deleted_by_sql(statement: str, trail: list[AuditEntry]) -> None:
    with connection.cursor() as cursor:
        refused(lambda: cursor.execute(statement))
    assert audit_verify() is None


@pytest.mark.parametrize("view", ["change", "delete"])
def test_rows_cannot_be_changed_or_deleted_here(
    view: str, root: Client, trail: list[AuditEntry]
) -> None:
    url = reverse(f"admin:accounts_auditentry_{view}", args=[trail[0].pk])
    assert root.post(url, {"actor": "mallory", "post": "yes"}).status_code == 403
    assert root.get(reverse("admin:accounts_auditentry_add")).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [trail[0].pk], "post": "yes"}
    root.post(reverse(LIST), chosen)
    assert AuditEntry.objects.get(pk=trail[0].pk).actor == "root"


def without_triggers() -> None:
    """As somebody with the keys of the database could; the test's rollback brings them back."""
    names = (
        ["audit_no_update", "audit_no_delete"]
        if connection.vendor == "sqlite"
        else ["audit_append_only ON accounts_auditentry"]
    )
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"DROP TRIGGER {name}")


@pytest.mark.parametrize(
    ("tamper", "breaks_at"),
    [
        (lambda rows: rows.filter(action="tool.completed").update(actor="mallory"), 1),
        (lambda rows: rows.filter(action="user.level").update(data={"to": "safe"}), 0),
        (lambda rows: rows.filter(action="tool.completed").delete(), 2),
        (lambda rows: rows.filter(action="user.level").delete(), 1),
        (lambda rows: rows.filter(action="user.level").update(previous="f" * 64), 0),
    ],
    ids=["actor", "data", "one gone", "the first gone", "link"],
)
def test_tampering_is_found_where_it_was_done(
    tamper: Any, breaks_at: int, root: Client, trail: list[AuditEntry]
) -> None:
    verify = reverse("admin:accounts_auditentry_verify")
    assert "The chain holds: 3 entries" in root.get(verify, follow=True).text
    without_triggers()
    tamper(AuditEntry.objects.all())
    assert audit_verify() == trail[breaks_at].pk
    words = f"The chain breaks at entry {trail[breaks_at].pk}"
    assert words in root.get(verify, follow=True).text


def test_it_is_searched_and_filtered(root: Client, trail: list[AuditEntry]) -> None:
    def shown(**asked: str) -> list[int]:
        return [entry.pk for entry in root.get(reverse(LIST), asked).context["cl"].result_list]

    first, second, third = (entry.pk for entry in trail)
    assert shown(q="alice@example.com") == [second, first]
    assert shown(kind="user") == [third, first]
    assert shown(via="web") == [second]


def test_the_export_is_what_the_list_shows_and_runs_no_formula(
    root: Client, trail: list[AuditEntry]
) -> None:
    response = root.get(reverse("admin:accounts_auditentry_export"), {"kind": "user"})
    assert response["Content-Type"].startswith("text/csv")
    text = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["id"] for line in lines] == [str(trail[2].pk), str(trail[0].pk)]
    assert lines[0]["target"] == "'=HYPERLINK(1)"
    assert lines[1]["data"] == '{"to":"auto"}'
    assert lines[1]["hash"] == trail[0].hash
    assert AuditEntry.objects.count() == 3
