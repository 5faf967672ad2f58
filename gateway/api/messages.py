"""``messages``: the history of a session, saying something, and saying it again."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.choices import TokenScope
from accounts.models import User
from agents.models import Run
from agents.services import message_send
from agents.services.branch import message_edit, message_regenerate
from gateway.api.door import Door, ListDoor, describe
from gateway.api.fields import Form, Moment, Text
from gateway.api.permissions import holds
from memory.choices import MessageState, Mode, Role
from memory.models import Message, Session
from tools.choices import CallState, Category, Outcome
from tools.models import ToolCall
from tools.services.request import shown


class ToolCallSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    category = serializers.ChoiceField(Category.choices)
    arguments = serializers.SerializerMethodField(
        help_text="Very long values are cut, and say so; invisible characters are written out."
    )
    outcome = serializers.ChoiceField(Outcome.choices)
    why = serializers.CharField()
    state = serializers.ChoiceField(CallState.choices)
    result = serializers.CharField()
    file = serializers.UUIDField(
        source="attachment_id", allow_null=True, help_text="The whole result, when it was cut."
    )
    started_at = Moment(allow_null=True)
    finished_at = Moment(allow_null=True)

    def get_arguments(self, call: ToolCall) -> dict[str, Any]:
        return shown(call.arguments)


class MessageSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    session = serializers.UUIDField(source="session_id")
    parent = serializers.UUIDField(source="parent_id", allow_null=True)  # type: ignore[assignment]
    role = serializers.ChoiceField(Role.choices)
    text = serializers.CharField()
    state = serializers.ChoiceField(MessageState.choices)
    position = serializers.IntegerField()
    active = serializers.BooleanField(help_text="On the branch in use.")
    client_id = serializers.CharField(allow_null=True)
    model = serializers.CharField()
    tokens = serializers.IntegerField()
    run = serializers.UUIDField(source="run_id", allow_null=True)
    files = serializers.SerializerMethodField()
    created_at = Moment()
    tool_calls = ToolCallSerializer(many=True)

    def get_files(self, message: Message) -> list[str]:
        return [str(file["id"]) for file in message.metadata.get("files") or []]


class AcceptedSerializer(serializers.Serializer[Any]):
    """Accepted: neither will be lost. The answer comes as events, and as a message of the run."""

    message = serializers.UUIDField()
    run = serializers.UUIDField()


class NewMessageSerializer(Form):
    text = Text()
    engine = Text(required=False, allow_blank=True, allow_null=True, max_length=64)
    model = Text(required=False, allow_blank=True, allow_null=True, max_length=200)
    mode = serializers.ChoiceField(Mode.choices, required=False, allow_null=True)
    skills = serializers.ListField(
        child=Text(max_length=100), required=False, allow_null=True, max_length=50
    )
    explicitSkill = Text(required=False, allow_null=True, max_length=100)
    files = serializers.ListField(
        child=Text(max_length=64), required=False, allow_null=True, max_length=50
    )
    client_id = Text(
        required=False,
        allow_null=True,
        max_length=100,
        help_text="Yours to choose. Sent twice, it is one message.",
    )


class EditSerializer(Form):
    text = Text()
    client_id = Text(required=False, allow_null=True, max_length=100)


class RegenerateSerializer(Form):
    client_id = Text(required=False, allow_null=True, max_length=100)


class HistorySerializer(Form):
    branch = serializers.ChoiceField(
        ["active", "all"], default="active", help_text="all: also what edits left behind."
    )
    order = serializers.ChoiceField(["oldest", "newest"], default="oldest")
    before = serializers.IntegerField(
        required=False, min_value=0, max_value=2**62, help_text="Only positions below this one."
    )


class MessagesView(ListDoor):
    @describe(
        "The history of a session, oldest first",
        answer=MessageSerializer(many=True),
        query=HistorySerializer,
    )
    def get(self, request: Request, id: str) -> Response:
        session = Session.objects.for_user(self.user).fetch(id)
        wanted, rows = self.query(HistorySerializer), messages_of(self.user)
        rows = rows.filter(session=session)
        if wanted["branch"] == "active":
            rows = rows.filter(active=True)
        if "before" in wanted:
            rows = rows.filter(position__lt=wanted["before"])
        ordering = "position" if wanted["order"] == "oldest" else "-position"
        return self.page(rows, MessageSerializer, ordering)

    @describe("Say something", body=NewMessageSerializer, answer=AcceptedSerializer, status=202)
    def post(self, request: Request, id: str) -> Response:
        session = Session.objects.for_user(self.user).fetch(id)
        given = {k: v for k, v in self.form(NewMessageSerializer).items() if v is not None}
        names = ("skills", "explicitSkill", "files")
        options = {name: given.pop(name) for name in names if name in given}
        may_approve = holds(self.token, TokenScope.APPROVE)
        sent = message_send(
            self.user,
            session,
            surface=self.via,
            options=options,
            may_approve=may_approve,
            **given,
        )
        return accepted(*sent)


class MessageView(Door):
    @describe("One message, whole", answer=MessageSerializer)
    def get(self, request: Request, id: str) -> Response:
        return Response(MessageSerializer(messages_of(self.user).fetch(id)).data)


class EditView(Door):
    @describe(
        "Say something else instead: a new branch, from which the old one stays reachable",
        body=EditSerializer,
        answer=AcceptedSerializer,
        status=202,
    )
    def post(self, request: Request, id: str) -> Response:
        given = self.form(EditSerializer)
        return accepted(*message_edit(self.user, id, via=self.via, **given))


class RegenerateView(Door):
    @describe(
        "Ask for another answer to the same message: a new branch",
        body=RegenerateSerializer,
        answer=AcceptedSerializer,
        status=202,
    )
    def post(self, request: Request, id: str) -> Response:
        given = self.form(RegenerateSerializer)
        return accepted(*message_regenerate(self.user, id, via=self.via, **given))


def messages_of(user: User) -> Any:
    """The user's messages with their calls, in two queries."""
    calls = ToolCall.objects.for_user(user).order_by("index")
    return Message.objects.for_user(user).prefetch_related(Prefetch("tool_calls", calls))


def accepted(message: Message, run: Run) -> Response:
    return Response({"message": str(message.pk), "run": str(run.pk)}, status=202)
