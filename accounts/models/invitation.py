"""Invitations: how people come in when sign-up is not open."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.choices import Level
from hermes_site.lib import clock
from hermes_site.lib.ids import new_id


class Invitation(models.Model):
    """A link for one address, used once; only the hash of its code is kept."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    email = models.EmailField(_("e-mail address"))
    digest = models.CharField(max_length=64, unique=True, editable=False)
    level = models.CharField(_("level"), max_length=16, choices=Level.choices, blank=True)
    groups = models.ManyToManyField(Group, verbose_name=_("groups"), blank=True, related_name="+")
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", editable=False
    )
    created_at = models.DateTimeField(_("created"), default=clock.now, editable=False)
    expires_at = models.DateTimeField(_("expires"))
    accepted_at = models.DateTimeField(_("accepted"), null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.email
