"""A remembered yes."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models.owned import OwnedQuerySet
from hermes_site.lib import clock
from hermes_site.lib.ids import new_id
from memory.models import Session


class Grant(models.Model):
    """Holds for the same tool with the same arguments (``digest``), in one session or, with
    ``session`` empty, always. Never for a tool as a whole: that is an administrator's rule."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    session = models.ForeignKey(Session, models.CASCADE, null=True, blank=True, related_name="+")
    tool = models.CharField(_("tool"), max_length=128)
    digest = models.CharField(max_length=64)
    shown = models.CharField(_("call"), max_length=500)
    created_at = models.DateTimeField(_("created"), default=clock.now, editable=False)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = _("remembered approval")
        verbose_name_plural = _("remembered approvals")
        indexes = [models.Index(fields=["user", "tool", "digest"], name="grant_lookup")]

    def __str__(self) -> str:
        return f"{self.tool}: {self.shown[:60]}"
