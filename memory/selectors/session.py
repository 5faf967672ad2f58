"""One session of a user's."""

from __future__ import annotations

from accounts.models import User
from hermes_site.lib.errors import NotFound
from hermes_site.lib.ids import parse_id
from hermes_site.lib.select import Select
from memory.models import Session

_session = Select(lambda user, id: Session.objects.filter(user=user, pk=id))


def session_of(user: User, id: object) -> Session:
    """What ``Session.objects.for_user(user).fetch(id)`` gives, for the read of every message.
    Raises ``NotFound``."""
    parsed = parse_id(id)
    found = _session(user.pk, parsed) if parsed and user.is_active else []
    if not found:
        raise NotFound(f"No session with id {str(id)[:60]!r}.")
    return found[0]
