"""The policy as rows: the matrix, rules that bend it, and switches that end it."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.choices import Level
from accounts.models import ScopedRow
from hermes_site.lib import clock
from tools.choices import Category, Outcome


class MatrixCell(models.Model):
    """One cell of level x category. A missing cell refuses."""

    level = models.CharField(_("level"), max_length=16, choices=Level.choices)
    category = models.CharField(_("category"), max_length=8, choices=Category.choices)
    outcome = models.CharField(_("outcome"), max_length=8, choices=Outcome.choices)

    class Meta:
        verbose_name = _("matrix cell")
        verbose_name_plural = _("policy matrix")
        constraints = [models.UniqueConstraint(fields=["level", "category"], name="cell_once")]

    def __str__(self) -> str:
        return f"{self.level} x {self.category}: {self.outcome}"


class ToolRule(ScopedRow):
    """An outcome for a tool (``*`` matches any run of characters) and, when ``argument`` is
    set, only for calls whose argument of that name matches ``pattern`` in the same way."""

    tool = models.CharField(_("tool"), max_length=128, help_text=_("A name, or a pattern with *."))
    argument = models.CharField(_("argument"), max_length=64, blank=True)
    pattern = models.CharField(_("matches"), max_length=500, blank=True)
    outcome = models.CharField(_("outcome"), max_length=8, choices=Outcome.choices)
    note = models.CharField(_("why"), max_length=200, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        verbose_name = _("tool rule")
        verbose_name_plural = _("tool rules")
        constraints = [ScopedRow.scope_check("rule_scope")]

    def __str__(self) -> str:
        return f"{self.subject}: {self.tool} {self.outcome}"


class ToolSwitch(models.Model):
    """A tool that an administrator switched off for everybody."""

    tool = models.CharField(_("tool"), max_length=128, unique=True)
    enabled = models.BooleanField(_("enabled"), default=True)
    note = models.CharField(_("why"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("tool switch")
        verbose_name_plural = _("tool switches")

    def __str__(self) -> str:
        return f"{self.tool}: {'on' if self.enabled else 'off'}"
