"""Writing of the accounts layer: one module per entity."""

from accounts.services.audit import audit_record, audit_verify
from accounts.services.invitation import invitation_accept, invitation_create
from accounts.services.limit import limit_set, limit_spend, limit_take
from accounts.services.token import token_authenticate, token_create, token_revoke
from accounts.services.user import (
    first_admin_ensure,
    user_create,
    user_set_active,
    user_set_level,
    user_update,
)

__all__ = [
    "audit_record",
    "audit_verify",
    "first_admin_ensure",
    "invitation_accept",
    "invitation_create",
    "limit_set",
    "limit_spend",
    "limit_take",
    "token_authenticate",
    "token_create",
    "token_revoke",
    "user_create",
    "user_set_active",
    "user_set_level",
    "user_update",
]
