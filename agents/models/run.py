"""A run: one user message worked on until it is answered. Data, not a process."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models.owned import OwnedQuerySet
from agents.choices import RunState
from hermes_site.lib import clock
from hermes_site.lib.ids import new_id
from memory.models import Message, Session


class Run(models.Model):
    """``number`` orders the runs of a session as they arrived.

    ``fence`` grows with each lease; every write of a worker names the fence it was given.
    ``attempts`` counts leases that ended without a saved step, and is reset by one that did.
    ``answer_id`` is the id that the step's answer streams under and will be saved with.
    ``due_at`` is when a queued run may start; ``woken_at`` when its wake-up was last sent.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    session = models.ForeignKey(Session, models.CASCADE, related_name="runs")
    message = models.OneToOneField(Message, models.CASCADE, related_name="run")
    number = models.PositiveBigIntegerField()
    state = models.CharField(
        _("state"), max_length=10, choices=RunState.choices, default=RunState.QUEUED
    )
    engine = models.CharField(_("engine"), max_length=64, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    mode = models.CharField(_("mode"), max_length=8, blank=True)
    surface = models.CharField(_("door"), max_length=32, default="web")
    options = models.JSONField(default=dict)
    answer_id = models.UUIDField(default=new_id)
    fence = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    lease_owner = models.CharField(max_length=128, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    step = models.PositiveSmallIntegerField(_("steps"), default=0)
    due_at = models.DateTimeField(default=clock.now)
    woken_at = models.DateTimeField(default=clock.now)
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.CharField(max_length=1000, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(_("created"), default=clock.now, editable=False)
    started_at = models.DateTimeField(_("started"), null=True)
    finished_at = models.DateTimeField(_("finished"), null=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["session"],
                name="one_active_run_per_session",
                condition=models.Q(state__in=["running", "waiting"]),
            ),
        ]
        indexes = [
            models.Index(
                fields=["state", "due_at"],
                name="run_open",
                condition=models.Q(state__in=["queued", "running", "waiting"]),
            ),
            models.Index(fields=["session", "number"], name="run_order"),
        ]

    def __str__(self) -> str:
        return f"run {self.id} ({self.state})"
