"""What `up` finds out before and after the start: is the port free, who answers, is it ready."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

from hermes_site.lib import env
from hermes_site.lib.errors import ConfigError
from hermes_site.services.ports import is_free

PROVIDER_SETTINGS = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENROUTER_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
)
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104
TIMEOUT = 2.0


def require_free_port(host: str, port: int) -> None:
    """Raise ConfigError, naming the setting, when the portal cannot listen there."""
    try:
        free = is_free(host, port)
    except OSError as error:
        raise ConfigError(f"HERMES_HOST={host!r} is no address of this machine: {error}") from error
    if not free:
        raise ConfigError(
            f"HERMES_PORT={port} is in use on {host}. "
            "Stop what listens there, or set HERMES_PORT to another port."
        )


def provider_settings() -> list[str]:
    """The names of the provider settings that the environment holds."""
    return [name for name in PROVIDER_SETTINGS if env.source(name)]


def offline_wanted(*, providers: bool, local_servers: bool) -> bool:
    """Whether to start the offline model: as HERMES_OFFLINE says, else when nothing else is."""
    if env.text("HERMES_OFFLINE"):
        return env.flag("HERMES_OFFLINE")
    return not providers and not local_servers


def is_ready(host: str, port: int, public_url: str) -> bool:
    """Whether ``/readyz`` of the web process answers 200, asked as a visitor would."""
    address = ANY_ADDRESS.get(host, host)
    connection = http.client.HTTPConnection(address, port, timeout=TIMEOUT)
    headers = {"Host": urlsplit(public_url).netloc}
    if public_url.startswith("https:"):
        headers["X-Forwarded-Proto"] = "https"
    try:
        connection.request("GET", "/readyz", headers=headers)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
