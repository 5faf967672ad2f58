"""Rates and budgets as rows."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.choices import LimitAction
from accounts.models.scoped import ScopedRow


class LimitRule(ScopedRow):
    """At most ``amount`` of ``action`` in each window of ``seconds``.

    For each action and window the narrowest row counts: the user's, else the most generous of
    the user's groups, else everyone's.
    """

    action = models.CharField(_("what"), max_length=16, choices=LimitAction.choices)
    amount = models.DecimalField(
        _("amount"), max_digits=14, decimal_places=2, validators=[MinValueValidator(0)]
    )
    seconds = models.PositiveIntegerField(
        _("window in seconds"), validators=[MinValueValidator(1)], help_text=_("60, 3600, 86400 …")
    )

    class Meta:
        verbose_name = _("limit")
        verbose_name_plural = _("limits")
        constraints = [
            ScopedRow.scope_check("limit_scope"),
            *ScopedRow.once("limit_once", "action", "seconds"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} {self.action} {self.amount:g}/{self.seconds}s"
