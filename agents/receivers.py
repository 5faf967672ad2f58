"""What this layer does when lower ones tell of something."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.dispatch import receiver

from accounts.models import User
from accounts.services.user import browser_sessions_end
from accounts.signals import user_disabled
from agents.services import runs_cancel_of_user
from agents.services.turn import run_resume
from tools.signals import calls_settled


@receiver(calls_settled)
def continue_run(run_id: UUID, **kwargs: Any) -> None:
    run_resume(run_id)


@receiver(user_disabled)
def end_runs(user: User, **kwargs: Any) -> None:
    browser_sessions_end(user)
    runs_cancel_of_user(user)
