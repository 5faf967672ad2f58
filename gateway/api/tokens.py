"""``tokens``: the caller's personal tokens. The secret is shown once, when it is made."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.choices import TokenScope
from accounts.models import ApiToken
from accounts.services import token_create, token_revoke
from accounts.services.token import MAX_DAYS
from gateway.api.door import Door, ListDoor, describe
from gateway.api.fields import Form, Moment, Text, Whole


class TokenSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    hint = serializers.CharField(help_text="Its first characters.")
    scopes = serializers.ListField(child=serializers.ChoiceField(TokenScope.choices))
    created_at = Moment()
    expires_at = Moment(allow_null=True)
    last_used_at = Moment(allow_null=True)
    revoked_at = Moment(allow_null=True)


class CreatedTokenSerializer(TokenSerializer):
    token = serializers.CharField(help_text="Shown this once.")


class NewTokenSerializer(Form):
    name = Text(required=False, allow_blank=True, max_length=100)
    scopes = serializers.ListField(
        child=serializers.ChoiceField(TokenScope.choices),
        required=False,
        allow_empty=False,
        max_length=len(TokenScope.choices),
        help_text="Without it: all that the caller has.",
    )
    days = Whole(required=False, allow_null=True, min_value=1, max_value=MAX_DAYS)


class TokensView(ListDoor):
    scope = read_scope = TokenScope.ACCOUNT

    @describe("Personal tokens, newest first", answer=TokenSerializer(many=True))
    def get(self, request: Request) -> Response:
        return self.page(ApiToken.objects.for_user(self.user), TokenSerializer)

    @describe("Make a token", body=NewTokenSerializer, answer=CreatedTokenSerializer, status=201)
    def post(self, request: Request) -> Response:
        given = self.form(NewTokenSerializer)
        token, secret = token_create(self.user, by_token=self.token, via=self.via, **given)
        return Response({**TokenSerializer(token).data, "token": secret}, status=201)


class TokenView(Door):
    scope = read_scope = TokenScope.ACCOUNT

    @describe("One token", answer=TokenSerializer)
    def get(self, request: Request, id: str) -> Response:
        return Response(TokenSerializer(ApiToken.objects.for_user(self.user).fetch(id)).data)

    @describe("Revoke a token: it ends at once", status=204)
    def delete(self, request: Request, id: str) -> Response:
        token_revoke(self.user, id, via=self.via)
        return Response(status=204)
