"""The site: settings and wiring. Apps are beside it, the model-free kernel is ``lib``."""

from hermes_site.celery import app as celery_app

__all__ = ["celery_app"]
