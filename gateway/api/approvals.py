"""``approvals``: what waits for the caller's yes, and what became of it."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.choices import TokenScope
from accounts.models import User
from gateway.api.door import Door, ListDoor, describe
from gateway.api.fields import Form, Moment, Text
from hermes_site.lib import clock
from tools.choices import ApprovalDecision, Category, Remember
from tools.models import Approval
from tools.services import approval_decide
from tools.services.request import shown


class ApprovalSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    session = serializers.UUIDField(source="session_id")
    run = serializers.UUIDField(source="run_id")
    call = serializers.UUIDField(source="tool_call_id")
    tool = serializers.CharField()
    category = serializers.ChoiceField(Category.choices)
    arguments = serializers.SerializerMethodField(
        help_text="In approvals/{id} exactly as they would be used; in lists fit to be shown."
    )
    command = serializers.CharField(help_text="With invisible characters written out.")
    why = serializers.CharField()
    created_at = Moment()
    expires_at = Moment()
    state = serializers.SerializerMethodField()
    decision = serializers.ChoiceField(ApprovalDecision.choices, allow_null=True)
    decided_at = Moment(allow_null=True)
    by = serializers.SerializerMethodField()
    via = serializers.CharField()
    reason = serializers.CharField()
    remember = serializers.ChoiceField(Remember.choices)
    edited = serializers.BooleanField(help_text="The approver changed the arguments.")

    def get_arguments(self, approval: Approval) -> dict[str, Any]:
        whole = self.context.get("whole")
        return dict(approval.arguments) if whole else shown(approval.arguments)

    def get_state(self, approval: Approval) -> str:
        """``pending`` or ``settled``; silence that lasted too long has settled it."""
        due = approval.expires_at > clock.now()
        return "pending" if approval.decision is None and due else "settled"

    def get_by(self, approval: Approval) -> str | None:
        return approval.decided_by.get_short_name() if approval.decided_by else None


class DecisionSerializer(Form):
    decision = serializers.ChoiceField(["allow", "deny"])
    remember = serializers.ChoiceField(Remember.choices, required=False)
    arguments = serializers.DictField(
        required=False, allow_null=True, help_text="Runs with these instead; they are judged anew."
    )
    reason = Text(required=False, allow_blank=True, max_length=500)


class ApprovalFilterSerializer(Form):
    state = serializers.ChoiceField(["pending", "settled"], required=False)
    session = serializers.UUIDField(required=False)


class ApprovalsView(ListDoor):
    @describe(
        "Approvals, newest first",
        answer=ApprovalSerializer(many=True),
        query=ApprovalFilterSerializer,
    )
    def get(self, request: Request) -> Response:
        rows, wanted = approvals_of(self.user), self.query(ApprovalFilterSerializer)
        open_now = Q(decision=None, expires_at__gt=clock.now())
        if "state" in wanted:
            rows = rows.filter(open_now if wanted["state"] == "pending" else ~open_now)
        if "session" in wanted:
            rows = rows.filter(session_id=wanted["session"])
        return self.page(rows, ApprovalSerializer)


class ApprovalView(Door):
    @describe("One approval, whole", answer=ApprovalSerializer)
    def get(self, request: Request, id: str) -> Response:
        return Response(
            ApprovalSerializer(approvals_of(self.user).fetch(id), context={"whole": True}).data
        )


class DecideView(Door):
    scope = TokenScope.APPROVE

    @describe("Allow or deny, once and in time", body=DecisionSerializer, answer=ApprovalSerializer)
    def post(self, request: Request, id: str) -> Response:
        # Somebody else's is missing, whatever is said about it.
        Approval.objects.for_user(self.user).fetch(id)
        approval = approval_decide(self.user, id, via=self.via, **self.form(DecisionSerializer))
        return Response(ApprovalSerializer(approval).data)


def approvals_of(user: User) -> Any:
    return Approval.objects.for_user(user).select_related("decided_by")
