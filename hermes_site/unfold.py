"""How the administration looks and what its side bar holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.http import HttpRequest


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """The side bar, with the number of approvals that wait."""
    # Settings import this module; rows exist only later.
    from hermes_site.dashboard import approvals_waiting

    waiting = {"badge": approvals_waiting(), "badge_variant": "warning"}
    return [
        *_ABOVE,
        {**_ACTIVITY, "items": [{**_APPROVALS, **waiting}, *_ACTIVITY["items"]]},
        _SYSTEM,
    ]


def superuser(request: HttpRequest) -> bool:
    """Whether the side bar shows the pages of the policy."""
    return bool(getattr(request.user, "is_superuser", False))


def _on_rules(request: HttpRequest) -> bool:
    """On the pages of the rules; the explanation, below the same address, has its own item."""
    rules = str(reverse_lazy("admin:tools_toolrule_changelist"))
    explanation = str(reverse_lazy("admin:tools_explain"))
    return request.path.startswith(rules) and request.path != explanation


def _static(path: str) -> Any:
    """A callable that gives the address of a static file, when it is asked for."""

    def address(request: HttpRequest) -> str:
        from django.templatetags.static import static

        return static(path)

    return address


def _item(title: Any, icon: str, view: str, **options: Any) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{view}"), **options}


def _list(title: Any, icon: str, model: str, **options: Any) -> dict[str, Any]:
    return _item(title, icon, f"{model}_changelist", **options)


_POLICY = {"permission": "hermes_site.unfold.superuser"}

_ABOVE: list[dict[str, Any]] = [
    {"items": [_item(_("Overview"), "monitoring", "index")]},
    {
        "title": _("People"),
        "separator": True,
        "items": [
            _list(_("Users"), "person", "accounts_user"),
            _list(_("Groups"), "group", "auth_group"),
            _list(_("Invitations"), "mail", "accounts_invitation"),
            _list(_("API tokens"), "key", "accounts_apitoken"),
        ],
    },
    {
        "title": _("Policy"),
        "separator": True,
        "items": [
            _list(_("Matrix"), "grid_on", "tools_matrixcell", **_POLICY),
            _list(_("Tool rules"), "rule", "tools_toolrule", active=_on_rules, **_POLICY),
            _list(_("Tools"), "toggle_on", "tools_toolswitch", **_POLICY),
            _list(_("Limits"), "speed", "accounts_limitrule", **_POLICY),
            _item(_("Why (not)?"), "help", "tools_explain", **_POLICY),
        ],
    },
]
_APPROVALS = _list(_("Approvals"), "front_hand", "tools_approval")
_ACTIVITY: dict[str, Any] = {
    "title": _("Activity"),
    "separator": True,
    "items": [
        _list(_("Runs"), "play_circle", "agents_run"),
        _list(_("Tool calls"), "construction", "tools_toolcall"),
        _list(_("Sessions"), "forum", "memory_session"),
        _list(_("Messages"), "chat", "memory_message"),
        _list(_("Remembered approvals"), "bookmark", "tools_grant"),
    ],
}
_SYSTEM = {
    "title": _("System"),
    "separator": True,
    "items": [
        _list(_("Audit trail"), "history", "accounts_auditentry"),
        _list(_("E-mail addresses"), "alternate_email", "account_emailaddress"),
        _list(_("Second factors"), "lock", "mfa_authenticator"),
        _list(_("Linked logins"), "link", "socialaccount_socialaccount"),
    ],
}

UNFOLD = {
    "SITE_TITLE": "Hermes Portal",
    "SITE_HEADER": "Hermes Portal",
    "SITE_SUBHEADER": _("Administration"),
    "SITE_URL": "/",
    "SITE_SYMBOL": "bolt",
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": _static("portal/icon.svg"),
        }
    ],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": True,
    "BORDER_RADIUS": "8px",
    "DASHBOARD_CALLBACK": "hermes_site.dashboard.dashboard",
    "STYLES": [_static("admin_portal/admin.css")],
    # The portal's accent, in unfold's ladder of lightness.
    "COLORS": {
        "primary": {
            "50": "oklch(97.5% .012 172)",
            "100": "oklch(94% .028 172)",
            "200": "oklch(88% .05 172)",
            "300": "oklch(82% .075 172)",
            "400": "oklch(76% .095 172)",
            "500": "oklch(66% .1 172)",
            "600": "oklch(47.5% .08 172)",
            "700": "oklch(41% .07 172)",
            "800": "oklch(35% .058 172)",
            "900": "oklch(30% .048 172)",
            "950": "oklch(22% .034 172)",
        }
    },
    "ACCOUNT": {
        "navigation": [
            {"title": _("Settings"), "link": "/settings/"},
            {"title": _("Change password"), "link": reverse_lazy("account_change_password")},
            {"title": _("Second factor"), "link": reverse_lazy("mfa_index")},
        ]
    },
    "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": navigation},
}
