"""Users and guards that every test may lean on.

Alice owns things, Bob is a colleague, Carol a stranger who must see nothing.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

# Before Django reads its settings: a home of this run's own, and no foreign configuration.
_HOME = tempfile.mkdtemp(prefix="hermes-test-")
for _name in list(os.environ):
    if _name.startswith(("OPENAI_", "ANTHROPIC_", "OPENROUTER_")):
        del os.environ[_name]
os.environ["HERMES_HOME"] = _HOME
os.environ.setdefault("HERMES_ENV_FILE", "/dev/null")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")

import pytest  # noqa: E402


@pytest.fixture(autouse=True)
def _home(settings: Any, tmp_path: Path) -> None:
    """Files of a test go to its own folder; uniqueness keeps parallel tests apart."""
    settings.HERMES_HOME = tmp_path


def _user(email: str, level: str, **fields: Any) -> Any:
    from accounts.models import User

    return User.objects.create_user(email, "correct horse battery", level=level, **fields)


@pytest.fixture
def alice(db: None) -> Any:
    return _user("alice@example.com", "auto", name="Alice")


@pytest.fixture
def bob(db: None) -> Any:
    return _user("bob@example.com", "auto", name="Bob")


@pytest.fixture
def carol(db: None) -> Any:
    return _user("carol@example.com", "full-access", name="Carol")


@pytest.fixture
def admin_user(db: None) -> Any:
    return _user("admin@example.com", "auto", name="Admin", is_staff=True, is_superuser=True)
