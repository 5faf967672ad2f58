"""A tool call as data: what was asked, decided, done."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models.owned import OwnedQuerySet
from hermes_site.lib import clock
from hermes_site.lib.ids import new_id
from memory.models import Attachment, Message, Session
from tools.choices import CallState, Category, Outcome


class ToolCall(models.Model):
    """``provider_id`` is the model's id of the call, ``index`` its place in the answer.

    ``digest`` is the hash of the canonical arguments that policy and approval are bound to.
    ``fence`` and ``lease_until`` guard execution as they guard a run.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    session = models.ForeignKey(Session, models.CASCADE, related_name="tool_calls")
    message = models.ForeignKey(Message, models.CASCADE, related_name="tool_calls")
    run_id = models.UUIDField(db_index=True)
    index = models.PositiveSmallIntegerField()
    provider_id = models.CharField(max_length=200)
    name = models.CharField(_("tool"), max_length=128)
    arguments = models.JSONField(_("arguments"), default=dict)
    digest = models.CharField(max_length=64)
    category = models.CharField(_("category"), max_length=8, choices=Category.choices)
    outcome = models.CharField(_("outcome"), max_length=8, choices=Outcome.choices)
    why = models.CharField(_("why"), max_length=500, blank=True)
    trace = models.JSONField(_("decision"), default=list)
    surface = models.CharField(_("door"), max_length=32, default="web")
    mode = models.CharField(_("mode"), max_length=8, default="code")
    state = models.CharField(
        _("state"), max_length=12, choices=CallState.choices, default=CallState.PENDING
    )
    result = models.TextField(_("result"), blank=True)
    attachment = models.ForeignKey(
        Attachment, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    fence = models.PositiveIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    woken_at = models.DateTimeField(default=clock.now)
    created_at = models.DateTimeField(_("created"), default=clock.now, editable=False)
    started_at = models.DateTimeField(_("started"), null=True)
    finished_at = models.DateTimeField(_("finished"), null=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = _("tool call")
        verbose_name_plural = _("tool calls")
        ordering = ["message_id", "index"]
        constraints = [
            models.UniqueConstraint(fields=["message", "index"], name="call_place_once"),
        ]
        indexes = [
            models.Index(fields=["user", "created_at"], name="call_by_user"),
            models.Index(
                fields=["state", "lease_until"],
                name="call_open",
                condition=models.Q(state__in=["pending", "waiting", "running"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.state})"
