"""Which level a user has, and from where."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts.choices import LEVEL_ORDER, Level
from accounts.models import GroupLevel, User


@dataclass(frozen=True)
class EffectiveLevel:
    """``source`` says in words where the level comes from."""

    level: str
    source: str

    @property
    def label(self) -> str:
        return str(Level(self.level).label)

    @property
    def origin(self) -> str:
        """``source`` for people."""
        kind, _space, group = self.source.partition(" ")
        words = {"own": _("set for you"), "default": _("the default")}
        return words.get(kind) or _("from the group %(group)s") % {"group": group}


def level_of(user: User) -> EffectiveLevel:
    """The user's own level, else the highest of their groups', else safe; an unknown word in a
    row counts as safe."""
    if user.level:
        return EffectiveLevel(user.level if user.level in LEVEL_ORDER else Level.SAFE, "own")
    rows = GroupLevel.objects.filter(group__user=user).values_list("level", "group__name")
    known = [(LEVEL_ORDER.index(level), name) for level, name in rows if level in LEVEL_ORDER]
    if known:
        rank, name = max(known)
        return EffectiveLevel(LEVEL_ORDER[rank], f"group {name}")
    return EffectiveLevel(Level.SAFE, "default")
