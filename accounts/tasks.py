"""Celery tasks of the accounts layer."""

from __future__ import annotations

from celery import shared_task
from django.core.management import call_command


@shared_task(name="accounts.housekeeping")
def housekeeping() -> None:
    """Drop browser sessions that have expired."""
    call_command("clearsessions")
