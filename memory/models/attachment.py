"""Uploaded files and large results, stored under their id only."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models.owned import OwnedQuerySet
from hermes_site.lib import clock
from hermes_site.lib.ids import new_id
from memory.models.session import Session


class Attachment(models.Model):
    """``name`` is what the person called it and is never used as a path."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    session = models.ForeignKey(
        Session, models.CASCADE, null=True, blank=True, related_name="files"
    )
    name = models.CharField(_("name"), max_length=255)
    content_type = models.CharField(_("type"), max_length=100, default="application/octet-stream")
    size = models.PositiveBigIntegerField(_("bytes"))
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(_("created"), default=clock.now, editable=False)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = _("file")
        verbose_name_plural = _("files")
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name
