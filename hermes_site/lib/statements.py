"""SQL made once for the statements that every message runs.

Django composes a statement anew each time, which costs several times what the database does
with it, and on SQLite all of that happens while other writers wait. The fields' own conversions
are kept, so that values are the same as through the ORM.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from django.db import connection, models

M = TypeVar("M", bound=models.Model)


class Insert(Generic[M]):
    """``insert(rows)`` of one model, as ``bulk_create`` does it; generated keys are filled in."""

    def __init__(self, model: type[M]) -> None:
        self._model = model
        self._sql: dict[str, str] = {}

    def __call__(self, *rows: M) -> None:
        generated = self._generated()
        fields = [f for f in self._model._meta.local_concrete_fields if f is not generated]
        values = [
            field.get_db_prep_save(getattr(row, field.attname), connection)
            for row in rows
            for field in fields
        ]
        with connection.cursor() as cursor:
            cursor.execute(self._statement(fields, len(rows)), values)
            if generated is not None:
                for row, (key,) in zip(rows, cursor.fetchall(), strict=True):
                    setattr(row, generated.attname, key)
        for row in rows:
            row._state.adding = False
            row._state.db = connection.alias

    def _generated(self) -> models.Field[Any, Any] | None:
        key = self._model._meta.pk
        return key if isinstance(key, models.AutoField) else None

    def _statement(self, fields: list[models.Field[Any, Any]], count: int) -> str:
        key = f"{connection.vendor}:{count}"
        if key not in self._sql:
            quote = connection.ops.quote_name
            columns = ", ".join(quote(str(field.column)) for field in fields)
            one = "(" + ", ".join(["%s"] * len(fields)) + ")"
            table = quote(self._model._meta.db_table)
            sql = f"INSERT INTO {table} ({columns}) VALUES {', '.join([one] * count)}"  # noqa: S608
            if (generated := self._generated()) is not None:
                sql += f" RETURNING {quote(str(generated.column))}"
            self._sql[key] = sql
        return self._sql[key]


def run(sql: str, values: Iterable[Any]) -> int:
    """Run a written-out statement; returns how many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values))
        return int(cursor.rowcount)


def one(sql: str, values: Iterable[Any]) -> tuple[Any, ...] | None:
    """The first row that a written-out statement returns."""
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values))
        row = cursor.fetchone()
    return tuple(row) if row is not None else None


def prepared(model: type[models.Model], **values: Any) -> dict[str, Any]:
    """``values`` of fields of ``model`` as the database takes them."""
    field = model._meta.get_field
    return {
        name: field(name).get_db_prep_save(value, connection)  # type: ignore[union-attr]
        for name, value in values.items()
    }
