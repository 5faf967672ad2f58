"""The tools layer: declaring, judging and running what the agent may do."""

from tools.declare import Tool, ToolContext, tool

__all__ = ["Tool", "ToolContext", "tool"]
