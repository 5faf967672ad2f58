"""Sessions and messages in the administration: that they are, never what they say."""

from memory.admin import message, session

__all__ = ["message", "session"]
