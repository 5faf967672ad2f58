"""Rows of the tools layer."""

from tools.models.approval import Approval
from tools.models.grant import Grant
from tools.models.policy import MatrixCell, ToolRule, ToolSwitch
from tools.models.tool_call import ToolCall

__all__ = ["Approval", "Grant", "MatrixCell", "ToolCall", "ToolRule", "ToolSwitch"]
