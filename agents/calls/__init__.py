"""From what a model writes to tool calls: API fragments and the markup of local models."""

from __future__ import annotations

from agents.calls.assembler import MAX_ARGUMENTS, MAX_CALLS, CallAssembler

__all__ = ["MAX_ARGUMENTS", "MAX_CALLS", "CallAssembler"]
