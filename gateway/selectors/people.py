"""Finding people as administrators name them."""

from __future__ import annotations

from accounts.models import User
from hermes_site.lib.errors import NotFound


def person(email: str) -> User:
    """The user with this address, whatever its case. Raises ``NotFound``."""
    user = User.objects.filter(email=email.strip().lower()).first()
    if user is None:
        raise NotFound(f"There is no user {email[:254]!r}.")
    return user
