"""The ASGI application: pages and REST through Django, websockets through Channels."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")
django_application = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.urls import path, re_path  # noqa: E402

from gateway.consumer import NoSuchSocket, SessionConsumer  # noqa: E402
from gateway.lifespan import Lifespan  # noqa: E402
from gateway.socket_auth import SocketAuth  # noqa: E402
from hermes_site.body_limit import BodyLimit  # noqa: E402

websockets = URLRouter(
    [
        path("ws/sessions/<str:session_id>/", SessionConsumer.as_asgi()),
        re_path(r"", NoSuchSocket.as_asgi()),
    ]
)

application = ProtocolTypeRouter(
    {
        "http": BodyLimit(django_application),
        "websocket": SocketAuth(websockets),
        "lifespan": Lifespan(),
    }
)
