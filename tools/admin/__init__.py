"""The administration of the policy, and what it decided: one module per kind of row."""

from tools.admin import approval, grant, matrix, rule, switch, tool_call

__all__ = ["approval", "grant", "matrix", "rule", "switch", "tool_call"]
