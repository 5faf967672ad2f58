"""Database work of an event loop: whole steps in a few threads with open connections.

Django's ``sync_to_async`` would send everything through one thread of the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from django.db import close_old_connections, connection

T = TypeVar("T")


class DatabaseThreads:
    """SQLite has one writer, so two threads are enough; a server takes four at once."""

    def __init__(self) -> None:
        threads = 2 if connection.vendor == "sqlite" else 4
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="database")

    async def run(self, step: Callable[..., T], *args: Any) -> T:
        """Run ``step(*args)`` in a thread; a connection that broke before is opened anew."""
        return await asyncio.get_running_loop().run_in_executor(
            self._executor, self._step, step, args
        )

    @staticmethod
    def _step(step: Callable[..., T], args: tuple[Any, ...]) -> T:
        close_old_connections()
        return step(*args)


@cache
def database_threads() -> DatabaseThreads:
    """The threads of this process."""
    return DatabaseThreads()


async def in_database(step: Callable[..., T], *args: Any) -> T:
    return await database_threads().run(step, *args)
