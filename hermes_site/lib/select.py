"""Querysets that are composed once and read again and again with other ids.

Django composes and compiles a queryset anew each time, which takes five to ten times what
running it does. Only for the reads of every turn: elsewhere that time does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar
from uuid import UUID, uuid4

from django.db import connection, models
from django.db.models.query import get_related_populators

M = TypeVar("M", bound=models.Model)


class Select(Generic[M]):
    """``Select(lambda id: Run.objects.select_related("user").filter(pk=id))``, then
    ``select(run_id)`` for the rows. The parameters of ``compose`` are UUIDs; everything else in
    the queryset is fixed."""

    def __init__(self, compose: Callable[..., models.QuerySet[M]]) -> None:
        self._compose = compose
        self._plans: dict[str, _Plan] = {}

    def __call__(self, *ids: UUID) -> list[M]:
        plan = self._plans.get(connection.vendor) or self._plan(len(ids))
        values = [part if place is None else _put(ids[place]) for place, part in plan.values]
        with connection.cursor() as cursor:
            cursor.execute(plan.sql, values)
            rows = cursor.fetchall()
        return plan.objects(rows)

    def _plan(self, count: int) -> _Plan:
        marks = [uuid4() for _ in range(count)]
        compiler: Any = self._compose(*marks).query.get_compiler(connection=connection)
        sql, parts = compiler.as_sql()
        places = {_put(mark): place for place, mark in enumerate(marks)}
        values = [(places.get(part), part) for part in parts]
        plan = self._plans[connection.vendor] = _Plan(sql, values, compiler)
        return plan


def _put(id: UUID) -> Any:
    """An id as the database takes it."""
    return models.UUIDField().get_db_prep_value(id, connection)


class _Plan:
    """``values``: each parameter of the statement, with the place of the id it stands for."""

    def __init__(self, sql: str, values: list[tuple[int | None, Any]], compiler: Any) -> None:
        self.sql, self.values, self._compiler = sql, values, compiler
        info, select = compiler.klass_info, compiler.select
        first, last = info["select_fields"][0], info["select_fields"][-1] + 1
        self._model, self._columns = info["model"], slice(first, last)
        self._names = [column[0].target.attname for column in select[self._columns]]
        # The stubs are those of a later Django.
        self._related = get_related_populators(info, select, connection.alias)  # type: ignore[call-arg]
        self._converters = compiler.get_converters([column[0] for column in select])

    def objects(self, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
        """What the queryset itself would give for ``rows``."""
        if self._converters:
            rows = self._compiler.apply_converters(rows, self._converters)
        found = []
        for row in rows:
            found.append(self._model.from_db(connection.alias, self._names, row[self._columns]))
            for populator in self._related:
                populator.populate(row, found[-1])
        return found
