"""``tools``: what the caller may use, with what the policy says of it and why."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.api.door import Door, describe
from tools.choices import Category, Outcome
from tools.selectors.policy import tools_for


class ToolSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    description = serializers.CharField()
    category = serializers.ChoiceField(Category.choices)
    schema = serializers.DictField(help_text="JSON Schema of the arguments.")
    outcome = serializers.ChoiceField(Outcome.choices)
    why = serializers.CharField()


class ToolPageSerializer(serializers.Serializer[Any]):
    """One page: there are never more."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = ToolSerializer(many=True)


class ToolsView(Door):
    @describe("The tools the caller may use, by name", answer=ToolPageSerializer)
    def get(self, request: Request) -> Response:
        results = [
            {
                "name": tool.name,
                "description": tool.description,
                "category": str(tool.category),
                "schema": tool.parameters,
                "outcome": str(decision.outcome),
                "why": decision.why,
            }
            for tool, decision in tools_for(self.user, surface=self.via)
        ]
        return Response({"next": None, "previous": None, "results": results})
