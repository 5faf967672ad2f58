"""Personal API tokens: only a hash is kept."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.choices import TokenScope
from accounts.models.owned import OwnedQuerySet
from hermes_site.lib import clock
from hermes_site.lib.ids import new_id


class ApiToken(models.Model):
    """``hp_…`` as shown once; ``digest`` is its SHA-256, ``hint`` its first characters."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(_("name"), max_length=100)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=12, editable=False)
    scopes = models.JSONField(_("scopes"), default=list)
    created_at = models.DateTimeField(_("created"), default=clock.now, editable=False)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"

    @property
    def scope_words(self) -> list[str]:
        return [str(label) for scope, label in TokenScope.choices if scope in self.scopes]
