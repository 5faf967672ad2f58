"""The addresses of the pages."""

from __future__ import annotations

from django.urls import path

from gateway.web import approvals, chat, health, invite, settings

_MESSAGE = "s/<uuid:session_id>/m/<uuid:message_id>/"

urlpatterns = [
    path("", chat.home, name="home"),
    path("new/", chat.new, name="new"),
    path("sessions/", chat.session_list, name="session-list"),
    path("s/<uuid:session_id>/", chat.session, name="session"),
    path("s/<uuid:session_id>/conversation/", chat.conversation, name="conversation"),
    path(_MESSAGE, chat.message, name="message"),
    path(f"{_MESSAGE}blocks/", chat.finished_blocks, name="blocks"),
    path("approvals/", approvals.page, name="approvals"),
    path("approvals/inbox/", approvals.inbox, name="approvals-inbox"),
    path("approvals/waiting/", approvals.waiting, name="waiting"),
    path("settings/", settings.settings_page, name="settings"),
    path("settings/profile/", settings.profile, name="settings-profile"),
    path("settings/tokens/", settings.create_token, name="settings-token-create"),
    path(
        "settings/tokens/<uuid:token_id>/revoke/",
        settings.revoke_token,
        name="settings-token-revoke",
    ),
    path("invite/<str:code>/", invite.invite, name="invite"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
