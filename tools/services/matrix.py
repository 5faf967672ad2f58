"""Changing the policy matrix: what would change, for how many, and the change itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Case, Count, IntegerField, Max, Q, Value, When

from accounts.choices import LEVEL_ORDER, Level
from accounts.models import User
from accounts.services import audit_record
from hermes_site.lib.errors import Conflict, UserFacing
from tools.choices import Category, Outcome
from tools.models import MatrixCell
from tools.policy import ORDER
from tools.selectors.policy import POLICY_TABLES

Cells = dict[tuple[str, str], str]
PLACES = [(level, category) for level in Level.values for category in Category.values]


@dataclass(frozen=True)
class CellChange:
    """One cell that would change; ``affected`` counts the enabled users of its level."""

    level: str
    category: str
    old: str
    new: str
    affected: int

    @property
    def opens(self) -> bool:
        """Whether more runs afterwards than before."""
        return _strictness(self.new) < _strictness(self.old)


def matrix_now() -> Cells:
    """Every cell as the policy reads it: one that is missing refuses."""
    rows = {(cell.level, cell.category): cell.outcome for cell in MatrixCell.objects.all()}
    return {place: rows.get(place, Outcome.DENY.value) for place in PLACES}


def matrix_seen(cells: Cells) -> str:
    """A mark of these outcomes, by which ``matrix_set`` knows that they still hold."""
    return hashlib.sha256("|".join(cells[place] for place in PLACES).encode()).hexdigest()[:16]


def matrix_changes(cells: Mapping[tuple[str, str], str]) -> list[CellChange]:
    """What setting ``{(level, category): outcome}`` would change. Raises ``UserFacing``."""
    for (level, category), outcome in cells.items():
        if (level, category) not in PLACES:
            raise UserFacing(f"There is no cell {level!r} x {category!r} in the matrix.")
        if outcome not in Outcome.values:
            raise UserFacing(f"Outcome {outcome!r} is not one of {', '.join(Outcome.values)}.")
    now, people = matrix_now(), users_by_level()
    return [
        CellChange(*place, old=now[place], new=str(cells[place]), affected=people[place[0]])
        for place in PLACES
        if place in cells and cells[place] != now[place]
    ]


def matrix_set(
    cells: Mapping[tuple[str, str], str], actor: Any, *, seen: str = "", via: str = ""
) -> list[CellChange]:
    """Set the given cells, all or none, each with an audit entry; returns what changed.

    With ``seen`` (``matrix_seen``) the matrix must still be the one that was looked at.
    Raises ``UserFacing`` for unknown words and ``Conflict``.
    """
    with transaction.atomic():
        # Two administrators at once: the second waits, and then sees what the first has set.
        list(MatrixCell.objects.select_for_update().order_by("pk"))
        if seen and seen != matrix_seen(matrix_now()):
            raise Conflict("Somebody changed the matrix meanwhile. Look at it again.")
        changes = matrix_changes(cells)
        for change in changes:
            MatrixCell.objects.update_or_create(
                level=change.level, category=change.category, defaults={"outcome": change.new}
            )
            audit_record(
                "matrix.set",
                actor=actor,
                target=f"{change.level} x {change.category}",
                via=via,
                data={"from": change.old, "to": change.new, "users": change.affected},
            )
        transaction.on_commit(POLICY_TABLES.clear)
    return changes


def users_by_level() -> dict[str, int]:
    """How many enabled users have each level, their own or the highest of their groups'."""
    own = [When(level=level, then=Value(rank)) for rank, level in enumerate(LEVEL_ORDER)]
    groups = [
        When(groups__level__level=level, then=Value(rank)) for rank, level in enumerate(LEVEL_ORDER)
    ]
    of_groups = Max(Case(*groups, default=Value(0), output_field=IntegerField()))
    ranked = User.objects.filter(is_active=True).annotate(
        rank=Case(
            *own,
            # An unknown word counts as safe.
            When(~Q(level=""), then=Value(0)),
            default=of_groups,
            output_field=IntegerField(),
        )
    )
    counts = ranked.aggregate(
        **{f"n{rank}": Count("pk", filter=Q(rank=rank)) for rank in range(len(LEVEL_ORDER))}
    )
    return {level: counts[f"n{rank}"] for rank, level in enumerate(LEVEL_ORDER)}


def _strictness(outcome: str) -> int:
    """Unknown words are as strict as can be, as the policy reads them."""
    return ORDER.index(outcome) if outcome in ORDER else len(ORDER) - 1
