"""The level that members of a group have."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.choices import Level


class GroupLevel(models.Model):
    """One level per group; a user without a level of their own gets the highest of theirs."""

    group = models.OneToOneField(Group, on_delete=models.CASCADE, related_name="level")
    level = models.CharField(_("level"), max_length=16, choices=Level.choices, default=Level.SAFE)

    class Meta:
        verbose_name = _("group level")
        verbose_name_plural = _("group levels")

    def __str__(self) -> str:
        return f"{self.group}: {self.level}"
