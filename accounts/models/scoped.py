"""The shape shared by rows that an administrator sets for everyone, a group or a user."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.choices import Scope


class ScopedRow(models.Model):
    """``scope`` says which of ``group`` and ``user`` is set, and the database checks it."""

    scope = models.CharField(_("for"), max_length=8, choices=Scope.choices, default=Scope.EVERYONE)
    group = models.ForeignKey(Group, models.CASCADE, null=True, blank=True, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+"
    )

    class Meta:
        abstract = True

    @staticmethod
    def scope_check(name: str) -> models.CheckConstraint:
        """The constraint that each concrete model lists under its own ``name``."""
        return models.CheckConstraint(
            name=name,
            condition=models.Q(scope="everyone", group=None, user=None)
            | models.Q(scope="group", group__isnull=False, user=None)
            | models.Q(scope="user", group=None, user__isnull=False),
        )

    @staticmethod
    def once(name: str, *fields: str) -> list[models.UniqueConstraint]:
        """One row per ``fields`` for everyone, for each group and for each user."""
        own = {"everyone": [], "group": ["group"], "user": ["user"]}
        return [
            models.UniqueConstraint(
                fields=[*subject, *fields],
                name=f"{name}_{scope}",
                condition=models.Q(scope=scope),
            )
            for scope, subject in own.items()
        ]

    def clean(self) -> None:
        wanted = {"everyone": (False, False), "group": (True, False), "user": (False, True)}
        if (self.group_id is not None, self.user_id is not None) != wanted.get(self.scope):
            raise ValidationError(_("Choose a group or a user to match “for”, and only that."))

    @property
    def subject(self) -> str:
        """``everyone``, ``group:NAME`` or ``user:EMAIL``, as the commands write it."""
        if self.scope == Scope.GROUP:
            return f"group:{self.group}"
        return f"user:{self.user}" if self.scope == Scope.USER else "everyone"
