"""Durable session events: written with the change they tell of, published after it."""

from __future__ import annotations

from django.db import models

from hermes_site.lib import clock
from memory.models.session import Session


class SessionEvent(models.Model):
    """An outbox row. ``seq`` is empty until Redis has numbered and published the event; the
    sweeper publishes rows that stayed without one. Deltas are never rows."""

    id = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(Session, models.CASCADE, related_name="events")
    seq = models.BigIntegerField(null=True)
    type = models.CharField(max_length=40)
    run_id = models.UUIDField(null=True)
    at = models.DateTimeField(default=clock.now)
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["session", "seq"], name="event_resume"),
            models.Index(fields=["at"], name="event_unpublished", condition=models.Q(seq=None)),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"
