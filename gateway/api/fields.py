"""Fields of requests and answers: exact types in, one form of time out, unknown names refused."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rest_framework import serializers

from hermes_site.lib import clock


class Form(serializers.Serializer[Any]):
    """What a client may send. A name that is not a field is an error, so that nobody believes
    to have set what was ignored (and nothing is set that was not meant to be)."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(map(str, data)) - set(self.fields))
        if unknown:
            allowed = ", ".join(self.fields) or "none"
            raise serializers.ValidationError(
                {name[:100]: [f"Unknown field. Fields: {allowed}."] for name in unknown[:20]}
            )
        return super().to_internal_value(data)


class Text(serializers.CharField):
    """A string and nothing that could be made one; kept as it is, blanks included."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("trim_whitespace", False)
        super().__init__(**options)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if data is not serializers.empty and data is not None and not isinstance(data, str):
            raise serializers.ValidationError("Must be a string.")
        return super().run_validation(data)


class Flag(serializers.BooleanField):
    """``true`` or ``false``."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("Must be true or false.")
        return data


class Whole(serializers.IntegerField):
    """An integer, not a string of digits."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            raise serializers.ValidationError("Must be an integer.")
        return data


class Moment(serializers.DateTimeField):
    """A time as every time leaves the portal: RFC 3339, UTC, milliseconds."""

    def to_representation(self, value: Any) -> str:
        return (clock.iso(value) or "") if isinstance(value, datetime) else str(value)


class ErrorSerializer(serializers.Serializer[Any]):
    """Every answer above 399."""

    code = serializers.CharField(help_text="For programs.")
    message = serializers.CharField(help_text="For people: what was wrong and what is allowed.")
    extra = serializers.DictField(help_text="More, by code.")
