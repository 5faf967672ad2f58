"""The web server of ``make up``: daphne on uvloop.

``python -m hermes_site.services.web HOST PORT``
"""

from __future__ import annotations

import asyncio
import sys

import uvloop


def main(host: str, port: str) -> None:
    """Serve until a signal. The loop's policy is set before daphne makes its loop on import."""
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    # Database threads and the loop share the interpreter: neither may keep it for long.
    sys.setswitchinterval(0.0005)
    from daphne.cli import CommandLineInterface

    from hermes_site.services.daphne_requests import bound_requests
    from hermes_site.services.daphne_sockets import direct_sockets

    bound_requests()
    direct_sockets()
    CommandLineInterface().run(
        ["-b", host, "-p", port, "-v", "0", "--no-server-name", "hermes_site.asgi:application"]
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
