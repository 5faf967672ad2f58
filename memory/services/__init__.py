"""Writing of the memory layer: one module per entity."""

from memory.services.attachment import attachment_create, attachment_from_text
from memory.services.event import emit, emit_live
from memory.services.message import answer_save, message_accept, message_event, message_place
from memory.services.session import (
    session_create,
    session_delete,
    session_hold,
    session_update,
)

__all__ = [
    "answer_save",
    "attachment_create",
    "attachment_from_text",
    "emit",
    "emit_live",
    "message_accept",
    "message_event",
    "message_place",
    "session_create",
    "session_delete",
    "session_hold",
    "session_update",
]
