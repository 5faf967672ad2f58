"""A third party's tools, as a plug-in: they leave a mark in the effect ledger.

The ledger is a plain append-only file outside database and Redis: the truth for "lost" and
"doubled".
"""

from __future__ import annotations

import json
import os
import time

from hermes_site.lib.faults import fault
from tools import ToolContext, tool


def _mark(ctx: ToolContext, kind: str, text: str) -> None:
    line = json.dumps({"kind": kind, "text": text, "call": str(ctx.call_id)}) + "\n"
    ledger = os.open(os.environ["HERMES_TEST_LEDGER"], os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    os.write(ledger, line.encode())
    os.close(ledger)


@tool(name="ledger_write", description="Leave a mark.", category="write")
def ledger_write(ctx: ToolContext, text: str, seconds: float = 0.0) -> str:
    """Mark, then take some time.

    Args:
        text: What to write.
        seconds: How long to take afterwards.
    """
    fault("ledger_before_mark")
    _mark(ctx, "write", text)
    fault("ledger_after_mark")
    time.sleep(seconds)
    return f"marked {text}"


@tool(name="ledger_pay", description="Pay, in the ledger.", category="finance")
def ledger_pay(ctx: ToolContext, text: str) -> str:
    """Mark a payment.

    Args:
        text: What for.
    """
    _mark(ctx, "pay", text)
    return f"paid {text}"


@tool(name="ledger_look", description="Look, and leave a mark of it.", category="read")
def ledger_look(ctx: ToolContext, text: str, seconds: float = 0.0) -> str:
    """Mark a look.

    Args:
        text: What at.
        seconds: How long to look.
    """
    _mark(ctx, "read", text)
    time.sleep(seconds)
    return f"looked at {text}"


@tool(name="raises", description="Fails.", category="read")
def raises(text: str = "boom") -> str:
    """Raise.

    Args:
        text: The message.
    """
    raise RuntimeError(text)


TOOLS = [ledger_write, ledger_pay, ledger_look, raises]
