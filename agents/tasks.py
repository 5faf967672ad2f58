"""Celery tasks of the agents layer: ids in, one service called, nothing waited for."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from agents import services
from agents.worker import worker


@shared_task(name="agents.turn")
def turn(run_id: str) -> None:
    """Hand the run to this worker's loop and return; the row's lease is the durability."""
    worker().submit(UUID(run_id))


@shared_task(name="agents.sweep")
def sweep() -> None:
    services.sweep()
