"""Rates and budgets: counted atomically in Redis, exactly, with the row count as a fallback."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction
from redis.exceptions import RedisError

from accounts.choices import LimitAction, Scope
from accounts.models import LimitRule, User
from accounts.selectors.limit import LIMIT_RULES, Window, keys, windows_for
from accounts.services.audit import audit_record
from accounts.services.counters import spend, take
from hermes_site.lib import clock
from hermes_site.lib.errors import UserFacing

log = logging.getLogger(__name__)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# What the columns hold; a window of no seconds would never be full.
MAX_AMOUNT, MAX_SECONDS = Decimal(10**12 - 1), 2**31 - 1
_RATE = re.compile(r"(\d+(?:\.\d{1,2})?)\s*/\s*(\d*)\s*(s|m|h|d)")


class RateLimited(UserFacing):
    """``extra`` names action, limit, window and ``reset_at``; ``retry_after`` is in seconds."""

    code = "rate_limited"
    status = 429

    def __init__(self, window: Window, action: str, wait: float) -> None:
        self.retry_after = max(1, math.ceil(wait))
        reset = clock.iso(clock.now() + timedelta(seconds=wait))
        word = LimitAction(action).label
        super().__init__(
            f"Limit reached: {float(window.amount):g} {str(word).lower()} per {window.words}. "
            f"Free again at {reset}.",
            extra={
                "action": action,
                "limit": float(window.amount),
                "seconds": window.seconds,
                "reset_at": reset,
                "retry_after": self.retry_after,
            },
        )


def limit_take(
    user: User,
    action: str,
    *,
    amount: float = 1,
    count_rows: Callable[[datetime], float] | None = None,
) -> None:
    """Count ``amount`` of ``action``, or raise ``RateLimited`` and count nothing.

    ``count_rows(since)`` counts the accepted rows, for when Redis is away or has forgotten.
    """
    windows = windows_for(user, action)
    if not windows:
        return
    named = keys(user, action, windows)
    try:
        hit, left = take(named, windows, amount, lambda window: _rows(count_rows, window))
    except RedisError as error:
        log.warning("limit_by_rows action=%s error=%s", action, error)
        _take_by_rows(windows, action, amount, count_rows)
        return
    if hit:
        raise RateLimited(windows[hit - 1], action, left)


def limit_spend(user: User, action: str, amount: float) -> None:
    """Book what was used (tokens, money) after the fact; may pass the limit."""
    windows = windows_for(user, action)
    if windows and amount > 0:
        try:
            spend(keys(user, action, windows), windows, amount)
        except RedisError as error:
            log.warning("limit_not_booked action=%s amount=%s error=%s", action, amount, error)


def limit_set(*, subject: str, action: str, rate: str, actor: Any) -> LimitRule:
    """Set one limit: ``subject`` is ``everyone``, ``group:NAME`` or ``user:EMAIL``; ``rate`` is
    ``1000/m``. A longer window of the same subject that allows less is dropped, since it could
    never let the new rate through. Raises ``UserFacing``."""
    if action not in LimitAction.values:
        raise UserFacing(f"Action {action!r} is not one of {', '.join(LimitAction.values)}.")
    match = _RATE.fullmatch(rate.strip())
    if not match:
        raise UserFacing(f"Rate {rate!r} is not of the form 10/m (units: s, m, h, d).")
    amount, seconds = Decimal(match[1]), int(match[2] or 1) * UNITS[match[3]]
    if amount > MAX_AMOUNT or not 1 <= seconds <= MAX_SECONDS:
        raise UserFacing(
            f"Rate {rate!r} is out of range. Use an amount up to {MAX_AMOUNT:,} "
            f"and a window of 1 to {MAX_SECONDS:,} seconds."
        )
    where = subject_fields(subject)
    with transaction.atomic():
        LimitRule.objects.filter(
            **where, action=action, seconds__gt=seconds, amount__lt=amount
        ).delete()
        rule, _ = LimitRule.objects.update_or_create(
            **where, action=action, seconds=seconds, defaults={"amount": amount}
        )
        audit_record("limit.set", actor=actor, target=subject, data={action: rate})
    LIMIT_RULES.clear()
    return rule


def subject_fields(subject: str) -> dict[str, Any]:
    """``scope``, ``group`` and ``user`` of a scoped row, from its written form."""
    kind, _, name = subject.partition(":")
    fields: dict[str, Any] = {"scope": kind, "group": None, "user": None}
    if kind == Scope.EVERYONE and not name:
        return fields
    if kind == Scope.GROUP and (group := Group.objects.filter(name=name).first()):
        return fields | {"group": group}
    if kind == Scope.USER and (user := User.objects.filter(email=name.lower()).first()):
        return fields | {"user": user}
    raise UserFacing(f"{subject!r} is nobody here. Use everyone, group:NAME or user:EMAIL.")


def _take_by_rows(
    windows: list[Window],
    action: str,
    amount: float,
    count_rows: Callable[[datetime], float] | None,
) -> None:
    for window in windows if count_rows else []:
        if _rows(count_rows, window) + amount > window.amount:
            raise RateLimited(window, action, window.seconds)


def _rows(count_rows: Callable[[datetime], float] | None, window: Window) -> float:
    """What was accepted within the length of ``window``."""
    if count_rows is None:
        return 0
    return count_rows(clock.now() - timedelta(seconds=window.seconds))
