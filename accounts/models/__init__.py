"""Rows of the accounts layer."""

from accounts.models.audit import AuditEntry
from accounts.models.group import GroupLevel
from accounts.models.invitation import Invitation
from accounts.models.limit import LimitRule
from accounts.models.scoped import ScopedRow
from accounts.models.token import ApiToken
from accounts.models.user import User

__all__ = ["ApiToken", "AuditEntry", "GroupLevel", "Invitation", "LimitRule", "ScopedRow", "User"]
