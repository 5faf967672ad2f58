"""Celery tasks of the tools layer: ids in, one service called, nothing waited for."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from tools.execution import run_call


@shared_task(name="tools.execute", time_limit=720)
def execute(call_id: str) -> None:
    run_call(UUID(call_id))
