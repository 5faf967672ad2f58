"""Celery: it only wakes. Rows and their leases are the durability (docs/architecture.md)."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")

app = Celery("hermes")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
