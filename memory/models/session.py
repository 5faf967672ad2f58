"""A conversation of one user, the same one at every door."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models.owned import OwnedQuerySet
from hermes_site.lib import clock
from hermes_site.lib.ids import new_id
from memory.choices import Mode


class Session(models.Model):
    """``engine`` and ``model`` empty mean the defaults. ``next_position`` numbers messages in
    the order in which the portal accepted them; it is taken under this row's lock."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="chat_sessions")
    title = models.CharField(_("title"), max_length=200, blank=True)
    engine = models.CharField(_("engine"), max_length=64, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    mode = models.CharField(_("mode"), max_length=8, choices=Mode.choices, default=Mode.CODE)
    platform = models.CharField(_("platform"), max_length=32, default="web")
    started_at = models.DateTimeField(_("started"), default=clock.now, editable=False)
    last_active_at = models.DateTimeField(_("last active"), default=clock.now)
    message_count = models.PositiveIntegerField(_("messages"), default=0)
    summary = models.TextField(_("summary"), blank=True)
    tags = models.JSONField(_("tags"), default=list, blank=True)
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)
    pinned = models.BooleanField(_("pinned"), default=False)
    archived_at = models.DateTimeField(_("archived"), null=True, blank=True)
    next_position = models.PositiveBigIntegerField(default=1, editable=False)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")
        ordering = ["-last_active_at", "-id"]
        indexes = [models.Index(fields=["user", "-last_active_at", "-id"], name="session_newest")]

    def __str__(self) -> str:
        return self.title or str(self.id)
