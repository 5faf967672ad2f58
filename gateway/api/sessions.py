"""``sessions``: list, create, change, delete."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Exists, OuterRef, Subquery
from django.db.models.functions import Coalesce
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User
from agents.choices import OPEN
from agents.models import Run
from agents.services.session import session_change, session_remove, session_start
from gateway.api.door import Door, ListDoor, describe
from gateway.api.fields import Flag, Form, Moment, Text
from hermes_site.lib import clock
from memory.choices import Mode
from memory.models import Session
from tools.models import Approval


class SessionSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    title = serializers.CharField()
    engine = serializers.CharField(help_text="Empty: the default.")
    model = serializers.CharField(help_text="Empty: the default.")
    mode = serializers.ChoiceField(Mode.choices)
    platform = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    pinned = serializers.BooleanField()
    archived = serializers.SerializerMethodField()
    message_count = serializers.IntegerField()
    running = serializers.BooleanField(help_text="A run is open.")
    waiting = serializers.IntegerField(help_text="Approvals that wait for the user.")
    started_at = Moment()
    last_active_at = Moment()

    def get_archived(self, session: Session) -> bool:
        return session.archived_at is not None


class NewSessionSerializer(Form):
    title = Text(required=False, allow_blank=True, max_length=200)
    engine = Text(required=False, allow_blank=True, allow_null=True, max_length=64)
    model = Text(required=False, allow_blank=True, allow_null=True, max_length=200)
    mode = serializers.ChoiceField(Mode.choices, required=False, allow_null=True)


class SessionChangesSerializer(Form):
    title = Text(required=False, allow_blank=True, max_length=200)
    tags = serializers.ListField(child=Text(max_length=50), required=False, max_length=20)
    archived = Flag(required=False)
    pinned = Flag(required=False)
    engine = Text(required=False, allow_blank=True, max_length=64)
    model = Text(required=False, allow_blank=True, max_length=200)
    mode = serializers.ChoiceField(Mode.choices, required=False)


class SessionFilterSerializer(Form):
    archived = serializers.ChoiceField(["true", "false"], required=False)


class SessionsView(ListDoor):
    @describe(
        "Sessions, newest first", answer=SessionSerializer(many=True), query=SessionFilterSerializer
    )
    def get(self, request: Request) -> Response:
        rows, wanted = sessions_of(self.user), self.query(SessionFilterSerializer)
        if "archived" in wanted:
            rows = rows.filter(archived_at__isnull=wanted["archived"] == "false")
        return self.page(rows, SessionSerializer, "-last_active_at", "-id")

    @describe("Create a session", body=NewSessionSerializer, answer=SessionSerializer, status=201)
    def post(self, request: Request) -> Response:
        given = {k: v for k, v in self.form(NewSessionSerializer).items() if v is not None}
        session = session_start(self.user, platform=self.via, **given)
        return Response(SessionSerializer(_fresh(self.user, session)).data, status=201)


class SessionView(Door):
    @describe("One session", answer=SessionSerializer)
    def get(self, request: Request, id: str) -> Response:
        return Response(SessionSerializer(sessions_of(self.user).fetch(id)).data)

    @describe(
        "Rename, tag, pin, archive, or set engine, model and mode",
        body=SessionChangesSerializer,
        answer=SessionSerializer,
    )
    def patch(self, request: Request, id: str) -> Response:
        session = Session.objects.for_user(self.user).fetch(id)
        session_change(session, **self.form(SessionChangesSerializer))
        return Response(SessionSerializer(_fresh(self.user, session)).data)

    @describe("Delete a session; its open runs are cancelled", status=204)
    def delete(self, request: Request, id: str) -> Response:
        session = Session.objects.for_user(self.user).fetch(id)
        session_remove(session, by=self.user, via=self.via)
        return Response(status=204)


def sessions_of(user: User) -> Any:
    """The user's sessions, each with whether it runs and how many approvals wait in it."""
    runs = Run.objects.filter(session=OuterRef("pk"), state__in=OPEN)
    pending = Approval.objects.filter(
        session=OuterRef("pk"), decision=None, expires_at__gt=clock.now()
    )
    counted = pending.order_by().values("session").annotate(number=Count("*")).values("number")
    return Session.objects.for_user(user).annotate(
        running=Exists(runs), waiting=Coalesce(Subquery(counted), 0)
    )


def _fresh(user: User, session: Session) -> Session:
    fresh: Session = sessions_of(user).fetch(session.pk)
    return fresh
