"""The errors of the portal, sorted by who can mend them, and its control flow.

Every door turns a ``PortalError`` into ``{"code", "message", "extra"}``. A message
names the value that was wrong and what is allowed.
"""

from __future__ import annotations

from typing import Any


class PortalError(Exception):
    """Base of all errors: ``code`` is for programs, ``message`` for people, ``status`` for HTTP."""

    code = "error"
    status = 500

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.status = status or self.status
        self.extra = extra or {}

    def as_dict(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "extra": self.extra}


class UserFacing(PortalError):
    """The person at the door can mend it: bad input, wrong state."""

    code = "invalid"
    status = 400


class NotFound(UserFacing):
    """No such row for this user; the same answer whether it exists for somebody else or not."""

    code = "not_found"
    status = 404


class Conflict(UserFacing):
    """The row has moved on; ``extra`` holds its final state."""

    code = "conflict"
    status = 409


class Denied(PortalError):
    """Policy, scope or role says no."""

    code = "denied"
    status = 403


class ModelRecoverable(PortalError):
    """Goes back to the model as an observation that it can act on."""

    code = "tool_error"
    status = 400


class Transient(PortalError):
    """Will probably work later; ``retry_after`` is in seconds."""

    code = "unavailable"
    status = 503

    def __init__(self, message: str, *, retry_after: float | None = None, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.retry_after = retry_after


class ConfigError(PortalError):
    """The operator can mend it: a setting, a key, a missing dependency."""

    code = "misconfigured"
    status = 503


class ControlFlow(Exception):
    """Base of the exceptions that steer a run instead of reporting a fault."""


class Interrupted(ControlFlow):
    """The run was cancelled, or its lease went to another worker."""


class LimitReached(ControlFlow):
    """A cap of the run (steps, repeats, tokens) ends it; ``code`` and ``message`` say which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
