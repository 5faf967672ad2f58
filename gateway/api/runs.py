"""``runs``: how one stands, stopping it, and saying something to it."""

from __future__ import annotations

from typing import Any

from django.db.models import OuterRef, Subquery
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User
from agents.choices import RunState
from agents.models import Run
from agents.services import run_cancel, run_steer
from gateway.api.door import Door, describe
from gateway.api.fields import Form, Moment, Text
from gateway.api.messages import AcceptedSerializer, accepted
from hermes_site.lib.errors import Conflict
from memory.choices import Role
from memory.models import Message


class RunErrorSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


class RunSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    session = serializers.UUIDField(source="session_id")
    message = serializers.UUIDField(source="message_id", help_text="What was asked.")
    answer = serializers.UUIDField(allow_null=True, help_text="The newest message of the agent.")
    state = serializers.ChoiceField(RunState.choices)
    error = serializers.SerializerMethodField()
    engine = serializers.CharField()
    model = serializers.CharField(help_text="Empty: the default.")
    mode = serializers.CharField()
    surface = serializers.CharField(help_text="The door it came in by.")
    step = serializers.IntegerField(help_text="Turns done.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    created_at = Moment()
    started_at = Moment(allow_null=True)
    finished_at = Moment(allow_null=True)

    @extend_schema_field(RunErrorSerializer(allow_null=True))
    def get_error(self, run: Run) -> dict[str, str] | None:
        if not run.error_code:
            return None
        return {"code": run.error_code, "message": run.error_message}


class SteerSerializer(Form):
    text = Text()


class NothingSerializer(Form):
    """An empty object, or no body at all."""


class RunView(Door):
    @describe("How a run stands", answer=RunSerializer)
    def get(self, request: Request, id: str) -> Response:
        return Response(RunSerializer(runs_of(self.user).fetch(id)).data)


class CancelView(Door):
    @describe(
        "Stop a run: its stream, its tools, its questions",
        body=NothingSerializer,
        answer=RunSerializer,
    )
    def post(self, request: Request, id: str) -> Response:
        self.form(NothingSerializer)
        run = Run.objects.for_user(self.user).fetch(id)
        if not run_cancel(run, by=self.user, via=self.via):
            raise Conflict(f"The run is {run.state}.", code="settled", extra={"state": run.state})
        return Response(RunSerializer(runs_of(self.user).fetch(run.pk)).data)


class SteerView(Door):
    @describe(
        "Say something to a run that is under way",
        body=SteerSerializer,
        answer=AcceptedSerializer,
        status=202,
    )
    def post(self, request: Request, id: str) -> Response:
        run = Run.objects.for_user(self.user).fetch(id)
        text = self.form(SteerSerializer)["text"]
        return accepted(run_steer(self.user, run, text, via=self.via), run)


def runs_of(user: User) -> Any:
    """The user's runs, each with its newest answer."""
    answers = Message.objects.filter(run_id=OuterRef("pk"), role=Role.ASSISTANT)
    newest = answers.order_by("-position").values("pk")[:1]
    return Run.objects.for_user(user).annotate(answer=Subquery(newest))
