"""``manage.py gateway``: keeps the connections to the chat platforms."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import Any

from django.core.management.base import BaseCommand

from gateway.registry import PLATFORMS, Platform

log = logging.getLogger(__name__)

# Seconds before a platform whose connection broke is tried again, doubled up to the second.
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0


class Command(BaseCommand):
    """Runs every platform until SIGTERM; one that breaks does not take the others down."""

    help = "Keep the connections to the chat platforms."

    def handle(self, *args: Any, **options: Any) -> None:
        asyncio.run(_serve())


async def _serve() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    tasks = [asyncio.create_task(_keep(platform)) for platform in PLATFORMS.all().values()]
    log.info("gateway_started platforms=%s", ",".join(PLATFORMS.all()) or "none")
    await stop.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _keep(platform: Platform) -> None:
    wait = FIRST_WAIT
    while True:
        try:
            await platform.run()
            return
        except Exception:
            log.exception("platform_broke name=%s again_in=%.0f", platform.name, wait)
        await asyncio.sleep(wait)
        wait = min(wait * 2, LONGEST_WAIT)
