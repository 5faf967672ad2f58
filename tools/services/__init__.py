"""Writing of the tools layer."""

from tools.services.approval import approval_decide, approvals_cancel, approvals_expire
from tools.services.recovery import calls_recover
from tools.services.request import CallOrigin, calls_request
from tools.services.tool_call import (
    call_claim,
    call_finish,
    call_renew,
    calls_cancel,
)

__all__ = [
    "CallOrigin",
    "approval_decide",
    "approvals_cancel",
    "approvals_expire",
    "call_claim",
    "call_finish",
    "call_renew",
    "calls_cancel",
    "calls_recover",
    "calls_request",
]
