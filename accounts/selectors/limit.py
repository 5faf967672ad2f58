"""Which limits hold for a user, and what is left of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from redis.exceptions import RedisError

from accounts.choices import LimitAction, Scope
from accounts.models import LimitRule, User
from hermes_site.lib import clock
from hermes_site.lib.recent import Recent
from hermes_site.lib.redis import PREFIX, client

# A new limit bites within a second.
LIMIT_RULES: Recent[list[LimitRule]] = Recent(lambda: list(LimitRule.objects.all()))
_WORDS = {1: "second", 60: "minute", 3600: "hour", 86400: "day"}


@dataclass(frozen=True)
class Window:
    amount: Decimal
    seconds: int

    @property
    def words(self) -> str:
        return _WORDS.get(self.seconds, f"{self.seconds} seconds")


def windows_for(user: User, action: str) -> list[Window]:
    """The windows that hold: the user's own rows if there are any, else the most generous of
    their groups', else everyone's."""
    rules = [rule for rule in LIMIT_RULES.get() if rule.action == action]
    groups = _groups(user) if any(rule.scope == Scope.GROUP for rule in rules) else set()
    holds: dict[str, Callable[[LimitRule], bool]] = {
        Scope.USER: lambda rule: rule.user_id == user.pk,
        Scope.GROUP: lambda rule: rule.group_id in groups,
        Scope.EVERYONE: lambda rule: True,
    }
    for scope, concerns in holds.items():
        best: dict[int, Decimal] = {}
        for rule in rules:
            if rule.scope == scope and concerns(rule):
                best[rule.seconds] = max(best.get(rule.seconds, Decimal(0)), rule.amount)
        if best:
            return [Window(amount, seconds) for seconds, amount in sorted(best.items())]
    return []


def _groups(user: User) -> set[int]:
    return set(user.groups.values_list("pk", flat=True))


def keys(user: User, action: str, windows: list[Window]) -> list[str]:
    """The Redis keys of the counters; the braces keep a user's on one node of a cluster."""
    return [f"{PREFIX}l:{{{user.pk}}}:{action}:{window.seconds}" for window in windows]


def limits_left(user: User) -> list[dict[str, Any]]:
    """Each limit with what is left and when it resets; ``left`` is None when Redis is away."""
    windows = [(action, w) for action in LimitAction.values for w in windows_for(user, action)]
    pipe = client().pipeline(transaction=False)
    for action, window in windows:
        (key,) = keys(user, action, [window])
        pipe.get(key)
        pipe.pttl(key)
    try:
        answers = pipe.execute()
    except RedisError:
        answers = [None] * (2 * len(windows))
    left = []
    for index, (action, window) in enumerate(windows):
        used, ttl = answers[2 * index], answers[2 * index + 1]
        known = ttl is not None
        left.append(
            {
                "action": action,
                "limit": float(window.amount),
                "seconds": window.seconds,
                "left": max(0.0, float(window.amount) - float(used or 0)) if known else None,
                "reset_at": clock.iso(clock.in_seconds(ttl / 1000)) if known and ttl > 0 else None,
            }
        )
    return left
