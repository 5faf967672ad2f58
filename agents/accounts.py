"""Which provider accounts are configured, and which model a run gets.

Accounts come from the environment (docs/deployment.md); with none, from local model servers
that ``up`` found, else from the bundled offline model.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from agents.providers.base import Account, ModelProfile
from hermes_site.lib import env
from hermes_site.lib.errors import ConfigError, UserFacing
from hermes_site.services.found_models import found_servers
from hermes_site.services.offline import MODEL as OFFLINE_MODEL
from hermes_site.services.offline import offline_url

# What runs when HERMES_MODEL names none.
_DEFAULT_MODELS = {"anthropic": "claude-sonnet-4-5", "openrouter": "openai/gpt-4.1-mini"}
_OPENAI_DEFAULT = "gpt-4.1-mini"
# A small model: no tools and a short prompt (contract: the portal says so).
OFFLINE_PROFILE = ModelProfile(context=4096, max_output=512, tools=False)


@dataclass(frozen=True)
class ModelChoice:
    """The account and the model id to send to it; ``label`` is ``account/model``."""

    account: Account
    model: str

    @property
    def label(self) -> str:
        return f"{self.account.name}/{self.model}"

    @property
    def profile(self) -> ModelProfile:
        return self.account.profile or ModelProfile()


def configured() -> dict[str, Account]:
    """The accounts by name, the default one first."""
    accounts = []
    if env.text("OPENAI_API_KEY") or env.text("OPENAI_BASE_URL"):
        # Local servers want a key in form only.
        key = env.text("OPENAI_API_KEY") or "none"
        accounts.append(Account("openai", "openai", key, env.text("OPENAI_BASE_URL")))
    if key := env.text("ANTHROPIC_API_KEY"):
        accounts.append(Account("anthropic", "anthropic", key, env.text("ANTHROPIC_BASE_URL")))
    if key := env.text("OPENROUTER_API_KEY"):
        url = env.text("OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1")
        accounts.append(Account("openrouter", "openai", key, url))
    if not accounts:
        accounts = [
            Account(s.name, "openai", "none", s.base_url)
            for s in found_servers(settings.HERMES_HOME)
        ]
    offline = offline_url(settings.HERMES_HOME)
    if not accounts and offline:
        accounts.append(Account("offline", "openai", "none", offline, OFFLINE_PROFILE))
    return {account.name: account for account in accounts}


def choose(wanted: str = "") -> ModelChoice:
    """The account and model for ``wanted`` (``account/model``, a model id, or empty for the
    default). Raises ``UserFacing`` for an unknown account, ``ConfigError`` when there is none."""
    accounts = configured()
    if not accounts:
        raise ConfigError(
            "No model is configured. Set OPENAI_API_KEY, OPENAI_BASE_URL or ANTHROPIC_API_KEY, "
            "or let `manage.py up` start the offline model.",
            code="no_model",
        )
    wanted = wanted or settings.HERMES_MODEL
    name, _, model = wanted.partition("/")
    if name in accounts and model:
        return ModelChoice(accounts[name], model)
    account = next(iter(accounts.values()))
    return ModelChoice(account, wanted or _default_model(account))


def _default_model(account: Account) -> str:
    if account.name == "offline":
        return OFFLINE_MODEL
    for server in found_servers(settings.HERMES_HOME):
        if server.name == account.name and server.models:
            return server.models[0]
    return _DEFAULT_MODELS.get(account.name, _OPENAI_DEFAULT)


def check_choice(wanted: str) -> None:
    """Refuse a model that names an account which is not configured."""
    name, slash, _ = wanted.partition("/")
    known = {"openai", "anthropic", "openrouter", "offline"}
    accounts = configured()
    # OpenRouter's own model ids look like account/model.
    if slash and name in known and name not in accounts and "openrouter" not in accounts:
        raise UserFacing(
            f"Model {wanted!r}: the account {name!r} is not configured.", code="unknown_model"
        )
