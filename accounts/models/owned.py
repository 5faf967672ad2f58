"""The one way to read rows that belong to a user."""

from __future__ import annotations

from typing import Any, Self

from django.db import models

from hermes_site.lib.errors import NotFound
from hermes_site.lib.ids import parse_id


class OwnedQuerySet(models.QuerySet[Any]):
    """A queryset whose model has a ``user``. Doors read through ``for_user`` only."""

    def for_user(self, user: Any) -> Self:
        """The rows of ``user``; none for a disabled or unknown one."""
        if not getattr(user, "is_authenticated", False) or not user.is_active:
            return self.none()
        return self.filter(user=user)

    def fetch(self, id: object) -> Any:
        """The row with ``id`` among these, or ``NotFound``, whoever's it may be."""
        parsed = parse_id(id)
        row = self.filter(pk=parsed).first() if parsed else None
        if row is None:
            name = self.model._meta.verbose_name
            raise NotFound(f"No {name} with id {str(id)[:60]!r}.")
        return row
