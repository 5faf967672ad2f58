"""``me``: who the caller is, what holds for them, and what is left of it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.selectors.level import level_of
from accounts.selectors.limit import limits_left
from agents.accounts import choose
from agents.registry import ENGINES
from gateway.api.door import Door, describe
from hermes_site.lib.errors import PortalError
from memory.choices import Mode


class LimitSerializer(serializers.Serializer[Any]):
    action = serializers.CharField()
    limit = serializers.FloatField()
    seconds = serializers.IntegerField(help_text="The window.")
    left = serializers.FloatField(allow_null=True, help_text="null while it is not known.")
    reset_at = serializers.DateTimeField(allow_null=True)


class MeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    name = serializers.CharField()
    level = serializers.CharField()
    level_source = serializers.CharField(help_text="own, default, or the group it comes from.")
    groups = serializers.ListField(child=serializers.CharField())
    is_admin = serializers.BooleanField()
    scopes = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="The token's; null without one."
    )
    limits = LimitSerializer(many=True)
    engine = serializers.CharField(help_text="The default engine.")
    engines = serializers.ListField(child=serializers.CharField())
    model = serializers.CharField(allow_null=True, help_text="The default model.")
    modes = serializers.ListField(child=serializers.CharField())


class MeView(Door):
    @describe("The caller, their level, and what is left of each limit", answer=MeSerializer)
    def get(self, request: Request) -> Response:
        user = self.user
        level = level_of(user)
        return Response(
            {
                "id": str(user.pk),
                "email": user.email,
                "name": user.name,
                "level": str(level.level),
                "level_source": level.source,
                "groups": sorted(user.groups.values_list("name", flat=True)),
                "is_admin": user.is_superuser,
                "scopes": self.token.scopes if self.token else None,
                "limits": limits_left(user),
                "engine": settings.HERMES_DEFAULT_ENGINE,
                "engines": sorted(ENGINES.all()),
                "model": _default_model(),
                "modes": Mode.values,
            }
        )


def _default_model() -> str | None:
    try:
        return choose().label
    except PortalError:
        return None
