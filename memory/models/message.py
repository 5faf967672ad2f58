"""One message. Tool calls hang on assistant messages (``tools.ToolCall``)."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models.owned import OwnedQuerySet
from hermes_site.lib import clock
from hermes_site.lib.ids import new_id
from memory.choices import MessageState, Role
from memory.models.session import Session


class Message(models.Model):
    """``position`` orders the session; a user message that still waits for its run is not
    ``placed`` and moves to the end when the run starts. ``active`` marks the branch in use;
    ``branched`` means that ``parent`` was chosen by an edit. ``run_id`` is plain because runs
    live in a higher layer. The same ``client_id`` twice in a session is one message."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    session = models.ForeignKey(Session, models.CASCADE, related_name="messages")
    run_id = models.UUIDField(null=True, blank=True, db_index=True)
    parent = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, related_name="replies"
    )
    position = models.PositiveBigIntegerField()
    placed = models.BooleanField(default=True)
    active = models.BooleanField(default=True)
    branched = models.BooleanField(default=False)
    role = models.CharField(_("role"), max_length=16, choices=Role.choices)
    text = models.TextField(_("text"), blank=True)
    reasoning = models.TextField(_("reasoning"), blank=True)
    state = models.CharField(
        _("state"), max_length=16, choices=MessageState.choices, default=MessageState.COMPLETED
    )
    model = models.CharField(_("model"), max_length=200, blank=True)
    platform = models.CharField(_("platform"), max_length=32, default="web")
    tokens = models.PositiveIntegerField(_("tokens"), default=0)
    client_id = models.CharField(max_length=100, null=True, blank=True)
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)
    created_at = models.DateTimeField(_("created"), default=clock.now, editable=False)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ["position"]
        indexes = [
            models.Index(fields=["session", "active", "position"], name="message_order"),
            models.Index(fields=["user", "created_at"], name="message_by_user"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["session", "client_id"], name="message_client_id_once"),
            models.UniqueConstraint(fields=["session", "position"], name="message_position_once"),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.text[:60]}"
