"""Wrong and insecure settings, found at start; each check names the setting and the mend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from agents.accounts import check_choice, configured
from agents.registry import ENGINES
from hermes_site.lib import env
from hermes_site.lib.errors import PortalError

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
# A key that somebody typed; the generated one has 67 characters.
SHORTEST_KEY = 32
PROVIDER_URLS = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OPENROUTER_BASE_URL")


@register(Tags.security)
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    return [
        *_public_url(),
        *_hosts(),
        *_debug(),
        *_secret(),
        *_agent(),
        *_timing(),
        *_services(),
    ]


@register(Tags.security, deploy=True)
def check_deployment(**kwargs: Any) -> list[CheckMessage]:
    """What is fine on one's own machine and not for others."""
    if settings.SECURE:
        return []
    return [
        Error(
            f"HERMES_PUBLIC_URL={settings.HERMES_PUBLIC_URL!r} is not https: passwords, cookies "
            "and tokens cross the network in the clear.",
            hint="Put a proxy with TLS in front and set HERMES_PUBLIC_URL=https://…",
            id="hermes.E020",
        )
    ]


def _public_url() -> Iterator[CheckMessage]:
    url, wrong = _url(settings.HERMES_PUBLIC_URL)
    if url is None or url.path or url.query or url.fragment or url.username:
        why = wrong or "it must have a host and nothing behind it"
        yield Error(
            f"HERMES_PUBLIC_URL={settings.HERMES_PUBLIC_URL!r} is not the portal's address: {why}.",
            hint="Write it as people type it: https://portal.example.com",
            id="hermes.E001",
        )


def _hosts() -> Iterator[CheckMessage]:
    url, _ = _url(settings.HERMES_PUBLIC_URL)
    if "*" in settings.ALLOWED_HOSTS:
        kind = Error if settings.SECURE else Warning
        yield kind(
            "ALLOWED_HOSTS='*' answers to any name, so that links in mails can be forged.",
            hint="List the names, or leave ALLOWED_HOSTS unset: the public address is allowed.",
            id="hermes.E002",
        )
    elif url is not None and not _allowed(url.hostname or ""):
        yield Error(
            f"ALLOWED_HOSTS={','.join(settings.ALLOWED_HOSTS)!r} refuses the portal's own address "
            f"{url.hostname!r}.",
            hint="Add the host of HERMES_PUBLIC_URL to ALLOWED_HOSTS.",
            id="hermes.E003",
        )


def _allowed(host: str) -> bool:
    hosts = [allowed.strip("[]").lower() for allowed in settings.ALLOWED_HOSTS]
    return any(host == h or (h.startswith(".") and f".{host}".endswith(h)) for h in hosts)


def _debug() -> Iterator[CheckMessage]:
    url, _ = _url(settings.HERMES_PUBLIC_URL)
    if settings.DEBUG and (settings.SECURE or (url and url.hostname not in LOOPBACK)):
        kind = Error if settings.SECURE else Warning
        yield kind(
            "HERMES_DEBUG is on at a public address: error pages show settings and code.",
            hint="Unset HERMES_DEBUG.",
            id="hermes.E004",
        )
    if not settings.SECURE and settings.HERMES_HOST not in LOOPBACK:
        yield Warning(
            f"HERMES_HOST={settings.HERMES_HOST!r} listens beyond this machine, without TLS.",
            hint="Set HERMES_HOST=127.0.0.1 with a proxy in front, and HERMES_PUBLIC_URL=https://…",
            id="hermes.W005",
        )


def _secret() -> Iterator[CheckMessage]:
    key = env.text("SECRET_KEY")
    if key and (len(key) < SHORTEST_KEY or len(set(key)) < 8):
        yield Error(
            f"SECRET_KEY has {len(key)} characters, {len(set(key))} of them different: it can be "
            "guessed, and with it every login forged.",
            hint="Unset it (one is made in HERMES_HOME), or use 50 random characters.",
            id="hermes.E006",
        )


def _agent() -> Iterator[CheckMessage]:
    if ENGINES.get(settings.HERMES_DEFAULT_ENGINE) is None:
        known = ", ".join(sorted(ENGINES.all()))
        yield Error(
            f"HERMES_DEFAULT_ENGINE={settings.HERMES_DEFAULT_ENGINE!r} is no engine.",
            hint=f"Use one of: {known}.",
            id="hermes.E007",
        )
    # The offline account exists only while its server runs; OpenRouter's ids look like accounts.
    if not settings.HERMES_MODEL.startswith("offline/") and "openrouter" not in configured():
        try:
            check_choice(settings.HERMES_MODEL)
        except PortalError as error:
            yield Error(
                f"HERMES_MODEL: {error.message}",
                hint="Set the account's key, or name a model of an account that has one.",
                id="hermes.E008",
            )


def _timing() -> Iterator[CheckMessage]:
    if settings.HERMES_LEASE < 2 * settings.HERMES_HEARTBEAT:
        yield Error(
            f"HERMES_LEASE={settings.HERMES_LEASE:g} is less than twice HERMES_HEARTBEAT="
            f"{settings.HERMES_HEARTBEAT:g}: one late heartbeat loses a run.",
            hint="Use three times: 6 and 2.",
            id="hermes.E009",
        )


def _services() -> Iterator[CheckMessage]:
    for name in PROVIDER_URLS:
        given = env.text(name)
        if given and (wrong := _url(given)[1]):
            yield Error(
                f"{name}={given!r} is no address: {wrong}.",
                hint="For example http://127.0.0.1:11434/v1",
                id="hermes.E010",
            )
    scheme = urlsplit(settings.REDIS_URL).scheme
    if scheme not in ("redis", "rediss", "unix"):
        yield Error(
            f"REDIS_URL has the scheme {scheme!r}.",
            hint="Use redis://, rediss:// or unix://, or leave it unset.",
            id="hermes.E011",
        )
    if env.text("OIDC_CLIENT_ID") and _url(env.text("OIDC_SERVER_URL"))[1]:
        yield Error(
            "OIDC_CLIENT_ID is set and OIDC_SERVER_URL is no address.",
            hint="Set OIDC_SERVER_URL to the provider's issuer, https://…",
            id="hermes.E012",
        )


def _url(text: str) -> tuple[SplitResult | None, str]:
    """The parts of an http address, or None and what is wrong with it."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return None, str(error)
    if parts.scheme not in ("http", "https"):
        return None, "it must begin with http:// or https://"
    if not host or any(character.isspace() for character in text):
        return None, "it has no host"
    return parts, ""
