"""The address book: pages, REST, health and the admin."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
    path("api/v1/", include("gateway.api.urls")),
    path("", include("gateway.web.urls")),
]

handler400 = "gateway.web.errors.bad_request"
