"""The counters of the limits in Redis: each call looks, counts and sets expiries at once.

A crash cannot leave a counter that never ends, a refused hit costs nothing, and hits while
blocked do not push the end away. Beside a user's counters stands a mark that lives as long as the
longest of them: without it Redis has lost them (or has not seen the user for that long), and they
begin with what the rows say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from accounts.selectors.limit import Window
from hermes_site.lib.redis import client

# KEYS: the counters, then the mark. ARGV: amount, longest window in seconds, then limit, seconds
# and what the rows say (empty: not looked yet) of each counter.
_TAKE = """
local mark, counters = KEYS[#KEYS], #KEYS - 1
if redis.call('EXISTS', mark) == 0 then
  if ARGV[5] == '' then return {-1, 0} end
  for i = 1, counters do
    if tonumber(ARGV[i * 3 + 2]) > 0 then
      redis.call('SET', KEYS[i], ARGV[i * 3 + 2], 'PX', tonumber(ARGV[i * 3 + 1]) * 1000, 'NX')
    end
  end
end
redis.call('SET', mark, '1', 'EX', ARGV[2])
local amount = tonumber(ARGV[1])
for i = 1, counters do
  local used = tonumber(redis.call('GET', KEYS[i]) or '0')
  if used + amount > tonumber(ARGV[i * 3]) then
    local left = redis.call('PTTL', KEYS[i])
    if left < 0 then left = tonumber(ARGV[i * 3 + 1]) * 1000 end
    return {i, left}
  end
end
for i = 1, counters do
  redis.call('INCRBYFLOAT', KEYS[i], ARGV[1])
  if redis.call('PTTL', KEYS[i]) < 0 then
    redis.call('PEXPIRE', KEYS[i], tonumber(ARGV[i * 3 + 1]) * 1000)
  end
end
return {0, 0}
"""
_SPEND = """
for i, key in ipairs(KEYS) do
  redis.call('INCRBYFLOAT', key, ARGV[1])
  if redis.call('PTTL', key) < 0 then redis.call('PEXPIRE', key, tonumber(ARGV[i + 1]) * 1000) end
end
return 1
"""


def take(
    keys: Sequence[str],
    windows: Sequence[Window],
    amount: float,
    rows: Callable[[Window], float],
) -> tuple[int, float]:
    """Count ``amount`` in all windows, or in none: returns the number (from 1) of the window that
    is full and the seconds until it ends, or ``(0, 0)``. Raises ``RedisError``."""
    hit, left = _take(keys, windows, amount, [""] * len(windows))
    if hit < 0:
        hit, left = _take(keys, windows, amount, [rows(window) for window in windows])
    return hit, left / 1000


def _take(
    keys: Sequence[str], windows: Sequence[Window], amount: float, seeds: Sequence[Any]
) -> tuple[int, float]:
    arguments: list[Any] = [amount, max(window.seconds for window in windows)]
    for window, seed in zip(windows, seeds, strict=True):
        arguments += [str(window.amount), window.seconds, seed]
    found: Any = client().eval(_TAKE, len(keys) + 1, *keys, f"{keys[0]}:mark", *arguments)
    return int(found[0]), float(found[1])


def spend(keys: Sequence[str], windows: Sequence[Window], amount: float) -> None:
    """Count ``amount`` though it may pass the limit. Raises ``RedisError``."""
    seconds = [window.seconds for window in windows]
    client().eval(_SPEND, len(keys), *keys, amount, *seconds)
