"""From what an API or its SDK says to ``ModelError``, without a key in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from agents.providers.base import Account, ModelError
from hermes_site.lib import clock
from hermes_site.lib.text import clean, preview

# How the servers in use say that the request does not fit the model's window.
_OVERFLOW = re.compile(
    r"context[_ ]length|context[_ ]window|context[_ ]size|context limit|exceed_context"
    r"|maximum context|prompt is too long|input is too long|too many (input )?tokens"
    r"|reduce the length|string_above_max_length|request_too_large|longer than the maximum",
    re.IGNORECASE,
)
_KEYS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key|api)[-_][\w*.…-]{4,}|\bbearer\s+\S+|\beyJ[\w.-]{16,}", re.IGNORECASE
)
_NO_CREDIT = re.compile(r"insufficient_quota|billing|credit balance", re.IGNORECASE)
# Error types inside a stream, which come without a status, by the status they mean.
_TYPES = (
    (re.compile(r"rate_?limit|too_many_requests|quota", re.IGNORECASE), 429),
    (re.compile(r"auth|api_key|permission|forbidden", re.IGNORECASE), 401),
    (re.compile(r"not_found", re.IGNORECASE), 404),
    (re.compile(r"invalid_request|bad_?request|too_large|unprocessable", re.IGNORECASE), 400),
)
_FOREIGN = {"openai", "anthropic", "httpx2", "aiohttp"}
_LONGEST_DETAIL = 300


def of_status(
    status: int, body: object, account: Account, headers: Mapping[str, str] | None = None
) -> ModelError:
    """The error for an HTTP status with its body (JSON or text)."""
    raw = _text_of(body)
    detail = scrubbed(raw, account)
    said = f" It said: {detail}" if detail else ""
    who = f"The model account {account.name!r}"
    if status == 401:
        return ModelError("auth", f"{who} was refused: its key is not valid.")
    if status == 403:
        return ModelError("auth", f"{who} may not use this model.{said}")
    if status == 402 or (status == 429 and _NO_CREDIT.search(raw)):
        return ModelError("rate_limited", f"{who} has no credit left.{said}")
    if status in (408, 409, 429):
        wait = retry_after(headers or {})
        message = f"{who} is rate limited.{said}"
        return ModelError("rate_limited", message, retry=True, retry_after=wait)
    if status == 413 or _OVERFLOW.search(raw):
        return ModelError("context_overflow", f"The conversation is too long for the model.{said}")
    if status == 404:
        return ModelError("not_found", f"{who} does not know this model or address.{said}")
    if status >= 500:
        wait = retry_after(headers or {})
        message = f"{who} is overloaded or failing (HTTP {status}).{said}"
        return ModelError("overloaded", message, retry=True, retry_after=wait)
    return ModelError("bad_request", f"{who} did not accept the request (HTTP {status}).{said}")


def of_event(error: object, account: Account) -> ModelError:
    """The error for an ``error`` object in a stream: ``{"message", "type", "code"}`` or text."""
    facts = error if isinstance(error, dict) else {}
    for value in (facts.get("code"), facts.get("status"), facts.get("status_code")):
        if str(value).isdecimal() and 400 <= int(str(value)[:4]) < 600:
            return of_status(int(str(value)), error, account)
    kind = f"{facts.get('type') or ''} {facts.get('code') or ''}"
    status = next((status for pattern, status in _TYPES if pattern.search(kind)), 503)
    return of_status(status, error, account)


def of_exception(error: Exception, account: Account, *, started: bool) -> ModelError:
    """The error for an exception of an SDK, its HTTP client or the network; ``started``: the
    answer had begun. Any other exception is a fault of ours and raised again."""
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if not modules & _FOREIGN and not isinstance(error, OSError):
        raise error
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        response = getattr(error, "response", None)
        body = getattr(error, "body", None)
        return of_status(status, body, account, getattr(response, "headers", None))
    who = f"The model account {account.name!r}"
    # The HTTP client names most failures to connect a time-out; the cause tells them apart.
    if any(isinstance(cause, TimeoutError) for cause in _causes(error)):
        return ModelError("timeout", f"{who} did not answer in time.", retry=True)
    if started:
        return ModelError("cut", "The model's answer broke off.", retry=True)
    return ModelError("unreachable", f"{who} cannot be reached.", retry=True)


def scrubbed(text: str, account: Account) -> str:
    """``text`` on one line, short, with the account's key and anything like a key taken out."""
    if len(account.api_key) >= 8:
        text = text.replace(account.api_key, "***")
    return preview(clean(_KEYS.sub("***", text[:4000])), _LONGEST_DETAIL)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from ``retry-after-ms`` or ``retry-after`` (seconds or a date)."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name) or ""
        try:
            seconds = float(value) / unit
        except ValueError:
            continue
        if 0 <= seconds < 86_400:
            return seconds
    try:
        date = parsedate_to_datetime(headers.get("retry-after") or "")
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    seconds = (date - clock.now()).total_seconds()
    return max(0.0, seconds) if seconds < 86_400 else None


def _text_of(body: object) -> str:
    """The part of an error body that says something: its message, type and code."""
    while isinstance(body, dict) and isinstance(body.get("error"), dict | str):
        body = body["error"]
    if not isinstance(body, dict):
        return str(body or "")
    facts = [body.get("message") or body.get("detail"), body.get("type"), body.get("code")]
    # A code that only repeats the status tells nothing.
    return " ".join(str(fact) for fact in facts if fact and not isinstance(fact, int))


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def unreadable_answer(content_type: str, account: Account) -> ModelError:
    """The error for an answer that is neither a stream nor JSON."""
    what = preview(content_type, 60) or "no content type"
    message = (
        f"The address of the model account {account.name!r} gave {what}, not a model's answer."
    )
    return ModelError("not_found", message)
