"""Rows as clients get them: the same shapes in REST, snapshots and pages."""

from __future__ import annotations

from typing import Any

from agents.models import Run
from hermes_site.lib import clock
from memory.models import Message, Session
from tools.models import Approval, ToolCall
from tools.services.request import shown

# What of a text a snapshot carries; the rest is fetched where it is wanted.
_TEXT = 16_000
_RESULT = 2_000


def session_shape(session: Session) -> dict[str, Any]:
    return {
        "id": str(session.pk),
        "title": session.title,
        "engine": session.engine,
        "model": session.model,
        "mode": session.mode,
        "platform": session.platform,
    }


def message_shape(message: Message) -> dict[str, Any]:
    return {
        "id": str(message.pk),
        "role": message.role,
        "text": message.text[:_TEXT],
        "truncated": len(message.text) > _TEXT,
        "state": message.state,
        "position": message.position,
        "client_id": message.client_id,
        "model": message.model,
        "run": str(message.run_id) if message.run_id else None,
        "created_at": clock.iso(message.created_at),
    }


def call_shape(call: ToolCall) -> dict[str, Any]:
    return {
        "id": str(call.pk),
        "message": str(call.message_id),
        "run": str(call.run_id),
        "name": call.name,
        "category": call.category,
        "arguments": shown(call.arguments),
        "outcome": call.outcome,
        "why": call.why,
        "state": call.state,
        "result": call.result[:_RESULT],
        "started_at": clock.iso(call.started_at),
        "finished_at": clock.iso(call.finished_at),
    }


def approval_shape(approval: Approval) -> dict[str, Any]:
    """A pending question, as ``permission_request`` has it."""
    return {
        "id": str(approval.pk),
        "call": str(approval.tool_call_id),
        "tool": approval.tool,
        "category": approval.category,
        "arguments": shown(approval.arguments),
        "command": approval.command,
        "expires_at": clock.iso(approval.expires_at),
        "why": approval.why,
    }


def run_shape(run: Run) -> dict[str, Any]:
    return {
        "id": str(run.pk),
        "state": run.state,
        "message": str(run.message_id),
        "step": run.step,
    }
