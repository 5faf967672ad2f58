"""Uploads: bounded, named safely, and never run in the portal's own name (T07, C09)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memory.models import Attachment

pytestmark = pytest.mark.django_db


def upload(client: Any, content: bytes = b"hello", name: str = "a.txt", **more: Any) -> Any:
    kind = more.pop("kind", "text/plain")
    file = SimpleUploadedFile("x", content, content_type=kind)
    file._name = name
    return client.post("files", {"file": file, **more}, format="multipart")


def test_a_file_comes_back_as_it_was(api: Any, session: Any) -> None:
    content = bytes(range(256)) * 5000
    made = upload(api, content, "data.bin", session=str(session.pk), kind="image/png")
    assert made.status_code == 201
    file = made.json()
    assert (file["name"], file["size"], file["session"]) == (
        "data.bin",
        len(content),
        str(session.pk),
    )
    assert api.get(f"files/{file['id']}").json() == file
    assert api.get("files").json()["results"] == [file]
    answer = api.get(f"files/{file['id']}/content")
    assert b"".join(answer.streaming_content) == content
    assert answer.headers["Content-Length"] == str(len(content))
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="data.bin"'


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "..\\..\\x",
        "/abs",
        "-rf",
        "...",
        "a\nb.txt",
        "a\r\nX-Evil: 1",
        'quote".txt',
        "emoji 🎉 ö.txt",
        "n" * 400 + ".txt",
        "\u202etxt.exe",
        " ",
    ],
)
def test_a_name_is_only_a_name(api: Any, name: str, tmp_path: Path) -> None:
    made = upload(api, name=name)
    if made.status_code == 400:
        assert made.json()["code"] in ("invalid", "parse_error")
        return
    assert made.status_code == 201
    file = made.json()
    assert file["name"]
    assert not {"/", "\\", "\n", "\r", "\u202e"} & set(file["name"])
    answer = api.get(f"files/{file['id']}/content")
    assert b"".join(answer.streaming_content) == b"hello"
    disposition = answer.headers["Content-Disposition"]
    assert disposition.startswith("attachment; filename")
    assert "X-Evil" not in answer.headers
    stored = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert [p.name for p in stored] == [file["id"].replace("-", "")]


@pytest.mark.parametrize(
    ("claimed", "served"),
    [
        ("text/html", "text/html"),
        ("image/svg+xml; charset=x", "image/svg+xml"),
        ("nonsense", "application/octet-stream"),
        ("a/b\u00e9", "application/octet-stream"),
        ("", "application/octet-stream"),
        ("x/" + "y" * 500, "application/octet-stream"),
    ],
)
def test_a_type_is_only_a_claim(api: Any, claimed: str, served: str) -> None:
    made = upload(api, b"<script>alert(1)</script>", kind=claimed).json()
    answer = api.get(f"files/{made['id']}/content")
    assert answer.headers["Content-Type"] == served
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    answer.close()


def test_too_large_is_refused_and_leaves_nothing(api: Any, settings: Any, tmp_path: Path) -> None:
    settings.HERMES_MAX_UPLOAD = 1000
    assert upload(api, b"x" * 1000).status_code == 201
    before = sorted(tmp_path.rglob("*"))
    for size in (1001, 60_000, 200_000):
        refused = upload(api, b"x" * size)
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    assert Attachment.objects.count() == 1
    assert [p for p in sorted(tmp_path.rglob("*")) if p.is_file()] == [
        p for p in before if p.is_file()
    ]


def test_an_upload_to_somebody_elses_session_is_refused(stranger: Any, session: Any) -> None:
    assert upload(stranger, session=str(session.pk)).status_code == 404
    assert Attachment.objects.count() == 0


def test_what_is_no_upload_is_refused(api: Any) -> None:
    assert api.post("files", {"file": "text"}, format="multipart").status_code == 400
    assert api.post("files", {}, format="multipart").status_code == 400
    assert upload(api, other="x").json()["message"].startswith("other: Unknown field.")
    assert api.post("files", {"file": "x"}, format="json").status_code == 415
    many = {f"f{number}": "x" for number in range(600)}
    assert api.post("files", many, format="multipart").status_code == 400
    for broken in ("multipart/form-data", "multipart/form-data; boundary=" + "x" * 300):
        answer = api.post("/api/v1/files", b"--x\r\n", content_type=broken)
        assert answer.status_code in (400, 415)
    assert Attachment.objects.count() == 0


def test_bytes_that_are_gone_are_a_404(api: Any, tmp_path: Path) -> None:
    made = upload(api).json()
    for path in tmp_path.rglob(made["id"].replace("-", "")):
        path.unlink()
    gone = api.get(f"files/{made['id']}/content")
    assert (gone.status_code, gone.json()["code"]) == (404, "gone")
