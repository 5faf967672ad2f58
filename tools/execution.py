"""Running one claimed call: an ordered list of small steps, the same for every tool.

Selecting, validating, judging and asking came before (``services.request``); claiming asked the
policy again and took the yes and the limit (``services.tool_call``). Here the tool runs, and
what it returns is formatted, redacted, capped and saved.
"""

from __future__ import annotations

import asyncio
import json
import logging
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings

from hermes_site.lib.errors import PortalError
from hermes_site.lib.faults import fault
from hermes_site.lib.redact import redact
from hermes_site.lib.text import clean_json
from memory.models import Attachment
from memory.services import attachment_from_text
from tools.choices import CallState
from tools.declare import Tool, ToolContext
from tools.models import Approval, ToolCall
from tools.registry import BACKENDS
from tools.running import Keeper, OutputStream, TimedOut, time_limit
from tools.services import call_claim, call_finish
from tools.workspace import workspace_for

log = logging.getLogger(__name__)

# What of a result goes to the model, in characters; more is kept whole as an attachment.
RESULT_CAP = 16_000
_HEAD, _TAIL = 12_000, 3_000


@dataclass
class Execution:
    """A call on its way through the steps."""

    call: ToolCall
    tool: Tool
    keeper: Keeper
    state: str = CallState.COMPLETED
    value: Any = None
    result: str = ""
    attachment: Attachment | None = None


def run_call(id: UUID) -> None:
    """Run the call ``id`` if it may run now; its outcome is data, whatever happens."""
    claimed = call_claim(id)
    if claimed is None:
        return
    call, tool = claimed
    with Keeper(call) as keeper:
        execution = Execution(call, tool, keeper)
        for step in STEPS:
            step(execution)
    if not call_finish(call, execution.state, execution.result, attachment=execution.attachment):
        log.warning("tool_result_refused call=%s: cancelled or taken over", call.pk)


def _invoke(execution: Execution) -> None:
    """Call the tool; what it raises becomes the observation."""
    call, tool = execution.call, execution.tool
    output = OutputStream(call)
    try:
        arguments = dict(call.arguments)
        if tool.takes_context:
            arguments["ctx"] = _context(call, execution.keeper, output)
        with time_limit(tool.timeout):
            value = tool.fn(**arguments)
            execution.value = asyncio.run(value) if tool.is_async else value
    except PortalError as error:
        execution.state, execution.value = CallState.FAILED, error.message
    except TimedOut:
        execution.state = CallState.FAILED
        execution.value = f"{tool.name} was stopped after {tool.timeout:g} s."
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        # The last two are no ``Exception``; a tool's ``exit()`` must not end the worker.
        log.exception("tool_raised tool=%s call=%s", tool.name, call.pk)
        execution.state = CallState.FAILED
        execution.value = f"{tool.name} failed: {type(error).__name__}: {error}"
    finally:
        output.close()
    fault("tool_effect_done")


def _format(execution: Execution) -> None:
    """The reference's ``{"success", "result", "metadata"}``, a string, or any JSON value."""
    value = execution.value
    if isinstance(value, dict) and "success" in value and "result" in value:
        if not value["success"]:
            execution.state = CallState.FAILED
        value = value["result"]
    execution.result = str(clean_json(value if isinstance(value, str) else _written(value)))
    if Approval.objects.filter(tool_call=execution.call, edited=True).exists():
        ran = orjson.dumps(execution.call.arguments).decode()
        execution.result = f"(The user changed the arguments to {ran})\n{execution.result}"


def _written(value: Any) -> str:
    """Any value as text: JSON where it can be that, else as Python shows it."""
    try:
        options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        return orjson.dumps(clean_json(value), default=str, option=options).decode()
    except (TypeError, RecursionError):
        pass  # numbers beyond 64 bits, mostly
    try:
        return json.dumps(value, default=reprlib.repr, indent=2, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return reprlib.repr(value)


def _redact(execution: Execution) -> None:
    execution.result = redact(execution.result)


def _cap(execution: Execution) -> None:
    text = execution.result
    if len(text) <= RESULT_CAP:
        return
    call, cut = execution.call, len(text) - _HEAD - _TAIL
    try:
        execution.attachment = attachment_from_text(
            call.user, name=f"{call.name}.txt", text=text, session_id=call.session_id
        )
        kept = f"the whole is kept as file {execution.attachment.pk}"
    except (PortalError, OSError) as error:
        log.warning("result_not_kept call=%s error=%s", call.pk, error)
        kept = "the whole could not be kept"
    note = f"\n\n[… {cut:,} characters left out; {kept} …]\n\n"
    execution.result = text[:_HEAD] + note + text[-_TAIL:]


STEPS: tuple[Callable[[Execution], None], ...] = (_invoke, _format, _redact, _cap)


def _context(call: ToolCall, keeper: Keeper, output: OutputStream) -> ToolContext:
    backend = BACKENDS.get("local")
    assert backend is not None, f"the local backend is broken: {BACKENDS.broken}"
    return ToolContext(
        user=call.user,
        session_id=call.session_id,
        run_id=call.run_id,
        call_id=call.pk,
        workspace=workspace_for(settings.HERMES_HOME, call.user_id),
        backend=backend,
        emit=output.write,
        cancelled=keeper.lost.is_set,
    )
