"""One provider client per account and process, kept open."""

from __future__ import annotations

from agents.providers.base import Account, Provider
from agents.registry import PROVIDERS
from hermes_site.lib.errors import ConfigError


class ProviderPool:
    """Lives on one event loop; an account whose key or address changed gets a new client."""

    def __init__(self) -> None:
        self._open: dict[str, Provider] = {}

    def get(self, account: Account) -> Provider:
        """Raises ``ConfigError`` for an unknown wire format."""
        provider = self._open.get(account.name)
        if provider is None or provider.account != account:
            kind = PROVIDERS.get(account.kind)
            if kind is None:
                raise ConfigError(f"Provider {account.name!r}: unknown kind {account.kind!r}.")
            provider = self._open[account.name] = kind(account)
        return provider

    async def close(self) -> None:
        for provider in self._open.values():
            await provider.close()
