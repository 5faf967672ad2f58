"""Signing in while Redis is away: slower to count, but no error."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache.backends.base import BaseCache

from hermes_site.lib.cache import TolerantRedisCache


@pytest.fixture
def nobody(settings: Any) -> BaseCache:
    return TolerantRedisCache("redis://127.0.0.1:1/0", {})


def test_the_cache_falls_back_to_this_process(nobody: BaseCache) -> None:
    assert nobody.add("rate", 1, 60) is True
    assert nobody.add("rate", 1, 60) is False
    nobody.set("rate", 5, 60)
    assert nobody.incr("rate") == 6
    assert nobody.get("rate") == 6
    nobody.delete("rate")
    assert nobody.get("rate", "gone") == "gone"


def test_a_login_works_and_a_wrong_one_is_counted(client: Any, alice: Any, settings: Any) -> None:
    settings.CACHES = {
        "default": {
            "BACKEND": "hermes_site.lib.cache.TolerantRedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
        }
    }
    wrong = {"login": alice.email, "password": "wrong"}
    answers = [client.post("/accounts/login/", wrong) for _ in range(8)]
    assert {answer.status_code for answer in answers} <= {200, 429}
    right = {"login": alice.email, "password": "correct horse battery"}
    assert client.post("/accounts/login/", right).status_code in (200, 302, 429)
