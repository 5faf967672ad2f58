"""Taking secrets out of text before it reaches the model, a log or a browser."""

from __future__ import annotations

import os
import re
from functools import cache

HIDDEN = "[redacted]"
# Names whose values are secrets wherever they turn up.
_NAMES = re.compile(
    r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|DATABASE_URL|REDIS_URL|EMAIL_URL)"
)
_SHAPES = re.compile(
    r"""
      \b(?:sk|rk|pk)-[A-Za-z0-9_-]{20,}              # OpenAI, Anthropic, Stripe and their kin
    | \bhp_[A-Za-z0-9_-]{30,}                        # our own tokens
    | \bgh[pousr]_[A-Za-z0-9]{30,} | \bgithub_pat_\w{50,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}               # Slack
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                  # AWS
    | \bAIza[A-Za-z0-9_-]{35}                        # Google
    | \b\d{8,10}:[A-Za-z0-9_-]{35}\b                 # Telegram bots
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}  # JSON web tokens
    | -----BEGIN[A-Z ]*PRIVATE\ KEY-----.*?-----END[A-Z ]*PRIVATE\ KEY-----
    | (?<=Bearer\ )[A-Za-z0-9._~+/-]{20,}=*
    """,
    re.X | re.S,
)


@cache
def _known() -> re.Pattern[str] | None:
    """The values of this process's own secrets; short ones would hide ordinary words."""
    values = {v for k, v in os.environ.items() if _NAMES.search(k) and len(v) >= 12}
    ordered = sorted(values, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered))) if ordered else None


def redact(text: str) -> str:
    """``text`` with known and secret-shaped values replaced."""
    known = _known()
    if known:
        text = known.sub(HIDDEN, text)
    return _SHAPES.sub(HIDDEN, text)
