"""Health for machines: is the process alive, is the portal ready."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from redis.exceptions import RedisError

from hermes_site.lib.alive import alive
from hermes_site.lib.redis import client


def healthz(request: HttpRequest) -> HttpResponse:
    """This process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> JsonResponse:
    """Database, Redis and a turns worker: 200 when all are there, else 503 that says which."""
    checks = {"database": _database(), "redis": _redis(), "turns": False}
    if checks["redis"]:
        checks["turns"] = alive()["turns"]
    ready = all(checks.values())
    return JsonResponse({"ready": ready, "checks": checks}, status=200 if ready else 503)


def _database() -> bool:
    try:
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _redis() -> bool:
    try:
        return bool(client().ping())
    except RedisError:
        return False
