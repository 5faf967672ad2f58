"""Starting our own Python programs by fork: the code is loaded once, by the supervisor.

Seven processes that each import Django and Celery need 20 s of CPU; forked, they are there at
once, share the memory of the code, and a killed one is back before a person notices.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import runpy
import signal
import sys
from pathlib import Path

from hermes_site.services import kernel

ROOT = Path(__file__).resolve().parent.parent.parent
# What Celery and the web load on first use. None of it starts a thread or opens a connection.
PRELOAD = (
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.concurrency.prefork",
    "celery.concurrency.thread",
    "hermes_site.urls",
    "kombu.transport.redis",
)
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def preload() -> None:
    """Import what the children need, and keep the collector from touching shared memory."""
    for module in PRELOAD:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()


def start_forked(name: str, command: list[str], log: int) -> int:
    """Run ``python -m module …`` or ``python file …`` in a fork of this process; returns its pid.

    Its output goes to the file descriptor ``log``. This process must have one thread only.
    """
    process = multiprocessing.get_context("fork").Process(
        target=_main, args=(name, command[1:], log, os.getpid())
    )
    # A signal between the fork and the reset of its handler would be lost in the child.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    assert process.pid is not None
    return process.pid


def _main(name: str, arguments: list[str], log: int, parent: int) -> None:
    os.setsid()
    kernel.begin_child(parent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    kernel.name_process(f"hermes-{name}")
    _redirect(log)
    os.chdir(ROOT)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


def _redirect(log: int) -> None:
    """Standard input from nowhere, both outputs to ``log``, line by line."""
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
