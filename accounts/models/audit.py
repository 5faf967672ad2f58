"""The audit trail: append-only, each row chained to the one before by a hash."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from hermes_site.lib import clock


class AuditEntry(models.Model):
    """Who did what to what. Database triggers refuse UPDATE and DELETE (see the migration).

    ``actor`` and ``target`` are plain ids, so that an entry outlives what it speaks of.
    ``hash`` is SHA-256 over ``previous`` and the row's content (``services.audit``).
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(_("at"), default=clock.now, db_index=True)
    actor = models.CharField(_("who"), max_length=254, blank=True)
    action = models.CharField(_("action"), max_length=64, db_index=True)
    target = models.CharField(_("target"), max_length=254, blank=True)
    via = models.CharField(_("door"), max_length=32, blank=True)
    data = models.JSONField(_("details"), default=dict)
    previous = models.CharField(max_length=64, editable=False)
    hash = models.CharField(max_length=64, editable=False)

    class Meta:
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit trail")
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor} {self.action} {self.target}"
