"""The administration of people: one module per kind of row."""

from accounts.admin import audit, group, invitation, limit, login, token, user

__all__ = ["audit", "group", "invitation", "limit", "login", "token", "user"]
