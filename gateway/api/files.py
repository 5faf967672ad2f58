"""``files``: uploads, what is known of them, and their bytes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import FileResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.api.door import Door, ListDoor, describe
from gateway.api.fields import Form, Moment
from hermes_site.lib.errors import NotFound
from memory.models import Attachment, Session
from memory.services import attachment_create
from memory.services.attachment import attachment_path

# What a multipart body may have around the file itself, in bytes.
_AROUND = 64 * 1024
_CHUNK = 256 * 1024
_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,62}/[a-z0-9][a-z0-9.+-]{0,62}", re.I)
_ANY_TYPE = "application/octet-stream"


class FileSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    session = serializers.UUIDField(source="session_id", allow_null=True)
    name = serializers.CharField()
    content_type = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")
    sha256 = serializers.CharField()
    created_at = Moment()


class UploadSerializer(Form):
    file = serializers.FileField(allow_empty_file=True, max_length=1000)
    session = serializers.CharField(required=False, max_length=64)


class FilesView(ListDoor):
    parser_classes = [MultiPartParser]

    def body_limit(self) -> int:
        return settings.HERMES_MAX_UPLOAD + _AROUND

    @describe("Files, newest first", answer=FileSerializer(many=True))
    def get(self, request: Request) -> Response:
        return self.page(Attachment.objects.for_user(self.user), FileSerializer)

    @describe(
        "Upload a file", body=UploadSerializer, answer=FileSerializer, status=201, multipart=True
    )
    def post(self, request: Request) -> Response:
        given = self.form(UploadSerializer)
        file, session = given["file"], given.get("session")
        if session:
            session = Session.objects.for_user(self.user).fetch(session).pk
        stored = attachment_create(
            self.user,
            name=file.name,
            source=file,
            content_type=_content_type(file.content_type),
            session_id=session,
        )
        return Response(FileSerializer(stored).data, status=201)


class FileView(Door):
    @describe("What is known of a file", answer=FileSerializer)
    def get(self, request: Request, id: str) -> Response:
        return Response(FileSerializer(Attachment.objects.for_user(self.user).fetch(id)).data)


class FileContentView(Door):
    @describe("The bytes of a file", answer=OpenApiTypes.BINARY, status=(200, "*/*"))
    def get(self, request: Request, id: str) -> Any:
        file = Attachment.objects.for_user(self.user).fetch(id)
        try:
            source = attachment_path(file.pk).open("rb")
        except FileNotFoundError:
            raise NotFound(f"The bytes of {file.name!r} are gone.", code="gone") from None
        response: StreamingHttpResponse
        if isinstance(request._request, ASGIRequest):
            # A plain iterator would be read to its end before the first byte is sent.
            response = StreamingHttpResponse(_chunks(source))
        else:
            response = FileResponse(source)
        response["Content-Type"] = _content_type(file.content_type)
        response["Content-Length"] = str(file.size)
        # Nothing that a person uploaded may run in the portal's name.
        response["Content-Disposition"] = content_disposition_header(True, file.name) or ""
        response["X-Content-Type-Options"] = "nosniff"
        response["Content-Security-Policy"] = "sandbox; default-src 'none'"
        response["Cache-Control"] = "private, no-cache"
        return response


async def _chunks(source: BinaryIO) -> AsyncIterator[bytes]:
    read = sync_to_async(source.read, thread_sensitive=False)
    try:
        while chunk := await read(_CHUNK):
            yield chunk
    finally:
        source.close()


def _content_type(claimed: str | None) -> str:
    """What the client says it is, without parameters; anything odd is just bytes."""
    kind = (claimed or "").partition(";")[0].strip()
    return kind.lower() if _TYPE.fullmatch(kind) else _ANY_TYPE
