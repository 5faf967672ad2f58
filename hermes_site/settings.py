"""All settings. Nothing here exists only in production; every knob is an environment variable.

The names are listed in docs/deployment.md. Wrong values fail at start with the mend named.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import dj_database_url
from csp.constants import NONE, SELF
from django.utils.translation import gettext_lazy as _
from dotenv import load_dotenv

from hermes_site import unfold
from hermes_site.lib import env
from hermes_site.services.valkey import broker_url, celery_url, embedded_url

BASE_DIR = Path(__file__).resolve().parent.parent
load_dotenv(env.text("HERMES_ENV_FILE") or BASE_DIR / ".env")

# --- The place and its name -------------------------------------------------------------

HERMES_HOME = Path(env.text("HERMES_HOME") or BASE_DIR / "var").resolve()
HERMES_HOST = env.text("HERMES_HOST", "127.0.0.1")
HERMES_PORT = env.integer("HERMES_PORT", 8000, low=1, high=65535)
HERMES_PUBLIC_URL = env.text("HERMES_PUBLIC_URL", f"http://{HERMES_HOST}:{HERMES_PORT}").rstrip("/")
HERMES_SERVER = env.choice("HERMES_SERVER", "daphne", ("daphne", "uvicorn"))
DEBUG = env.flag("HERMES_DEBUG")
SECURE = HERMES_PUBLIC_URL.startswith("https://")


def _secret_key() -> str:
    """``SECRET_KEY``, else one made on first run and kept in HERMES_HOME, readable by its owner."""
    given = env.text("SECRET_KEY")
    if given:
        return given
    path = HERMES_HOME / "secret_key"
    try:
        HERMES_HOME.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(descriptor, "w") as handle:
        handle.write(secrets.token_urlsafe(50))
    return path.read_text().strip()


SECRET_KEY = _secret_key()
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")
_PUBLIC_HOST = HERMES_PUBLIC_URL.split("://", 1)[-1].split("/")[0]
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS") or [
    _PUBLIC_HOST.rsplit(":", 1)[0],
    "localhost",
    "127.0.0.1",
    "[::1]",
]
CSRF_TRUSTED_ORIGINS = [HERMES_PUBLIC_URL]

# --- Apps and requests ------------------------------------------------------------------

INSTALLED_APPS = [
    # First, so that its templates win over the libraries'.
    "gateway",
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_celery_beat",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.mfa",
    "csp",
    # Last, so that their admin pages can take the libraries' place.
    "hermes_site",
    "accounts",
    "memory",
    "tools",
    "agents",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "hermes_site.csp.AdminPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "gateway.web.person.Person",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "gateway.web.errors.PortalErrors",
]

ROOT_URLCONF = "hermes_site.urls"
ASGI_APPLICATION = "hermes_site.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 500
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "gateway.web.context.portal",
            ],
        },
    },
]

# --- Rows -------------------------------------------------------------------------------

DATABASES = {
    "default": dj_database_url.parse(
        env.text("DATABASE_URL") or f"sqlite:///{HERMES_HOME / 'portal.db'}",
        conn_max_age=None,
        conn_health_checks=True,
    )
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["ENGINE"] = "hermes_site.sqlite"
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=268435456;"
            "PRAGMA cache_size=-16000; PRAGMA temp_store=MEMORY;"
        ),
    }

# --- Redis: a hint, never the truth -------------------------------------------------------

REDIS_URL = env.text("REDIS_URL") or embedded_url(HERMES_HOME)
CACHES = {"default": {"BACKEND": "hermes_site.lib.cache.TolerantRedisCache", "LOCATION": REDIS_URL}}

BROKER_URL = broker_url(REDIS_URL)
BROKER_PREFIX = "hermes:celery:"
CELERY_BROKER_URL = celery_url(BROKER_URL)
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
# Early ack: the row and its lease decide about repetition, not the broker.
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_POOL_LIMIT = 4
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "global_keyprefix": BROKER_PREFIX,
    # With early ack a message needs no copy in Redis while it is handed over: the sweeper sends
    # what is lost with a worker. Saves four commands in two round trips a message.
    "ack_emulation": False,
    "socket_keepalive": True,
    "health_check_interval": 10,
    # A broker that is down must cost a request little; the sweeper sends the wake-up later.
    "socket_connect_timeout": 2,
}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TIMEZONE = "UTC"
CELERY_TASK_ROUTES = {"agents.turn": "turns", "tools.execute": "tools"}
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "agents.sweep", "schedule": 1.0, "options": {"expires": 2}},
    "housekeeping": {"task": "accounts.housekeeping", "schedule": 3600.0},
}
CELERY_BEAT_MAX_LOOP_INTERVAL = 1

# --- Who ----------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
HERMES_SIGNUP = env.choice("HERMES_SIGNUP", "invite", ("closed", "invite", "open"))

ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
SOCIALACCOUNT_ADAPTER = "accounts.adapter.SocialAccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_SESSION_REMEMBER = True
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not SECURE
MFA_ALLOW_UNVERIFIED_EMAIL = env.flag("HERMES_MFA_UNVERIFIED_EMAIL", True)
SOCIALACCOUNT_ONLY = False
SOCIALACCOUNT_PROVIDERS = (
    {
        "openid_connect": {
            "APPS": [
                {
                    "provider_id": "oidc",
                    "name": env.text("OIDC_NAME", "Single sign-on"),
                    "client_id": env.text("OIDC_CLIENT_ID"),
                    "secret": env.text("OIDC_CLIENT_SECRET"),
                    "settings": {"server_url": env.text("OIDC_SERVER_URL")},
                }
            ]
        }
    }
    if env.text("OIDC_CLIENT_ID")
    else {}
)

SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_NAME = "hermes_session"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "hermes_csrf"
# Redirecting to https is the proxy's work (docs/deployment.md).
SECURE_SSL_REDIRECT = False
SILENCED_SYSTEM_CHECKS = ["security.W008"]
SECURE_HSTS_SECONDS = 31536000 if SECURE else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
HERMES_TRUST_PROXY = env.flag("HERMES_TRUST_PROXY")
if HERMES_TRUST_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
    }
}

# --- Words and time -----------------------------------------------------------------------

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

# --- Files --------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = HERMES_HOME / "static"
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 3600
HERMES_MAX_UPLOAD = env.integer("HERMES_MAX_UPLOAD", 25 * 1024 * 1024)
HERMES_MAX_MESSAGE = env.integer("HERMES_MAX_MESSAGE", 100_000)

# --- Mail ---------------------------------------------------------------------------------

_EMAIL = env.text("EMAIL_URL")
if _EMAIL:
    _mail = env.mail_settings(_EMAIL)
    EMAIL_HOST, EMAIL_PORT = _mail["host"], _mail["port"]
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail["user"], _mail["password"]
    EMAIL_USE_SSL, EMAIL_USE_TLS = _mail["ssl"], _mail["tls"]
    DEFAULT_FROM_EMAIL = env.text("HERMES_MAIL_FROM", _mail["user"] or "hermes@localhost")
else:
    EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"

# --- The agent ----------------------------------------------------------------------------

HERMES_MODEL = env.text("HERMES_MODEL")
HERMES_DEFAULT_ENGINE = env.text("HERMES_DEFAULT_ENGINE", "hermes")
# Lease, heartbeat and sweep: a dead worker's run streams again after 6 to 8 s.
HERMES_LEASE = env.number("HERMES_LEASE", 6, low=1)
HERMES_HEARTBEAT = env.number("HERMES_HEARTBEAT", 2, low=0.2)
HERMES_MAX_STREAMS = env.integer("HERMES_MAX_STREAMS", 250, low=1)
HERMES_DRAIN = env.number("HERMES_DRAIN", 5)
HERMES_MAX_STEPS = env.integer("HERMES_MAX_STEPS", 50, low=1)
HERMES_APPROVAL_SECONDS = env.number("HERMES_APPROVAL_SECONDS", 30, low=1)

# --- The administration (the looks are in hermes_site.unfold) -------------------------------

UNFOLD = unfold.UNFOLD

# --- REST -----------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "gateway.api.authentication.TokenAuthentication",
        "gateway.api.authentication.PortalSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["gateway.api.permissions.ActiveUserWithScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["gateway.api.parsing.CleanJSONParser"],
    "DEFAULT_PAGINATION_CLASS": "gateway.api.pagination.IdCursorPagination",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "gateway.api.errors.handle",
    "PAGE_SIZE": 50,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Hermes Portal",
    "DESCRIPTION": "Sessions, messages, runs and approvals of one user.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {},
}

# --- Logs -------------------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": env.text("HERMES_LOG_LEVEL", "INFO")},
    "loggers": {
        "daphne": {"level": "WARNING"},
        "django.channels.server": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "celery": {"level": "WARNING"},
    },
}
TEST_RUNNER = "django.test.runner.DiscoverRunner"
