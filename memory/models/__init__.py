"""Rows of the memory layer."""

from memory.models.attachment import Attachment
from memory.models.event import SessionEvent
from memory.models.message import Message
from memory.models.session import Session

__all__ = ["Attachment", "Message", "Session", "SessionEvent"]
