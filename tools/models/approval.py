"""A question to a person, bound to exact arguments, answered once."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models.owned import OwnedQuerySet
from hermes_site.lib import clock
from hermes_site.lib.ids import new_id
from memory.models import Session
from tools.choices import ApprovalDecision, Category, Remember
from tools.models.tool_call import ToolCall


class ApprovalQuerySet(OwnedQuerySet):
    def pending(self) -> Self:
        """Those that can still be answered."""
        return self.filter(decision=None, expires_at__gt=clock.now())


class Approval(models.Model):
    """``digest`` is that of the arguments shown. ``decision`` empty means pending. The call may
    start only by setting ``consumed_at`` on an ``allow`` whose digest is the call's."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    session = models.ForeignKey(Session, models.CASCADE, related_name="approvals")
    tool_call = models.OneToOneField(ToolCall, models.CASCADE, related_name="approval")
    run_id = models.UUIDField(db_index=True)
    tool = models.CharField(_("tool"), max_length=128)
    category = models.CharField(_("category"), max_length=8, choices=Category.choices)
    arguments = models.JSONField(_("arguments"), default=dict)
    command = models.TextField(_("command"), blank=True)
    digest = models.CharField(max_length=64)
    why = models.CharField(_("why"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("asked"), default=clock.now, editable=False)
    expires_at = models.DateTimeField(_("expires"))
    decision = models.CharField(
        _("decision"),
        max_length=10,
        choices=ApprovalDecision.choices,
        null=True,
        blank=True,
    )
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    via = models.CharField(_("door"), max_length=32, blank=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    remember = models.CharField(max_length=8, choices=Remember.choices, default=Remember.ONCE)
    edited = models.BooleanField(_("arguments edited"), default=False)
    consumed_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ApprovalQuerySet.as_manager()

    class Meta:
        verbose_name = _("approval")
        verbose_name_plural = _("approvals")
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["expires_at"], name="approval_pending", condition=models.Q(decision=None)
            ),
            models.Index(fields=["user", "-id"], name="approval_by_user"),
        ]

    def __str__(self) -> str:
        return f"{self.tool}: {self.decision or 'pending'}"
