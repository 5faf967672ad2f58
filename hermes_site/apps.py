from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "hermes_site"
    verbose_name = "Hermes Portal"
