"""One settings file, driven by the environment. What each variable means stands beside it."""

import json
import os
from pathlib import Path
from typing import Any

from benchhub.database_url import database_settings

BASE_DIR = Path(__file__).resolve().parent.parent


def _list(name: str, default: str = "") -> list[str]:
    return [part.strip() for part in os.environ.get(name, default).split(",") if part.strip()]


# SECRET_KEY signs sessions; FIELD_KEYS (comma-separated Fernet keys, newest first) encrypt stored secrets.
SECRET_KEY = os.environ.get("SECRET_KEY", "")
FIELD_KEYS = _list("FIELD_KEYS")
DEBUG = os.environ.get("DEBUG", "0") == "1"
ALLOWED_HOSTS = _list("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
# The addresses people type, with scheme, when a proxy in front speaks https: https://bench.example.org
CSRF_TRUSTED_ORIGINS = _list("TRUSTED_ORIGINS")
# PUBLIC_URL: where people open BenchHub, for addresses in notices; if unset, the first of TRUSTED_ORIGINS.
# Where there is none either, it is where a webhook was saved.
PUBLIC_URL = (os.environ.get("PUBLIC_URL") or next(iter(CSRF_TRUSTED_ORIGINS), "")).rstrip("/")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "drf_spectacular",
    "benchhub.accounts",
    "benchhub.catalog",
    "benchhub.bench",
    "benchhub.reports",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "benchhub.ui.middleware.content_security_policy",
    "benchhub.ui.middleware.refuse_other_methods",
    "benchhub.ui.middleware.refuse_impossible_addresses",
    "benchhub.ui.middleware.whole_page_instead_of_a_part",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "benchhub.ui.middleware.kept_by_nobody",
    "benchhub.accounts.middleware.audited",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "benchhub.accounts.middleware.Guard",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "benchhub.urls"
WSGI_APPLICATION = "benchhub.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "frontend" / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "benchhub.accounts.navigation.context.navigation",
            ],
            "builtins": ["benchhub.ui.templatetags.components"],
        },
    }
]
FORM_RENDERER = "benchhub.ui.widgets.Renderer"

# DATABASE_URL: postgresql://user:password@host:port/name; the warehouse.
DATABASES = {"default": database_settings(os.environ.get("DATABASE_URL", "postgresql://127.0.0.1/benchhub"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LOGIN_URL = "login"
AUTHENTICATION_BACKENDS = ["benchhub.accounts.backends.RoleBackend"]
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
_validators = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"{_validators}.UserAttributeSimilarityValidator"},
    {"NAME": f"{_validators}.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": f"{_validators}.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en-gb"
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True

# STATIC_ROOT: where collectstatic puts the hashed, compressed files that the web process serves; without it the
# files are served as they lie in frontend/, as in tests.
STATIC_URL = "static/"
STATIC_ROOT = os.environ.get("STATIC_ROOT")
STATICFILES_DIRS = [BASE_DIR / "frontend" / "static"]
_hashed = "benchhub.ui.static_files.StaticFilesStorage"
_plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
STORAGES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": _hashed if STATIC_ROOT else _plain},
}
# ARCHIVE_DIR: the folder to which files of old runs move, the same for web and worker; without it they stay.
ARCHIVE_DIR = os.environ.get("ARCHIVE_DIR", "")
# ARCHIVE_STORAGE: the class of another storage than that folder, and ARCHIVE_OPTIONS what it takes, as JSON.
ARCHIVE_STORAGE = os.environ.get("ARCHIVE_STORAGE", "")
if ARCHIVE_STORAGE:
    STORAGES["archive"] = {"BACKEND": ARCHIVE_STORAGE, "OPTIONS": json.loads(os.environ.get("ARCHIVE_OPTIONS") or "{}")}
elif ARCHIVE_DIR:
    STORAGES["archive"] = {"BACKEND": "benchhub.archive.Folder", "OPTIONS": {"location": ARCHIVE_DIR}}
WHITENOISE_USE_FINDERS = not STATIC_ROOT

# A price sheet of 1,000 lines has 20 fields in each.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 30_000

# HTTPS=1 when people reach BenchHub by https (a proxy in front that sets X-Forwarded-Proto).
HTTPS = os.environ.get("HTTPS", "0") == "1"
# WEBHOOK_NETWORKS: networks that webhooks may reach although they are private, such as 10.0.0.0/8,192.168.7.0/24.
WEBHOOK_NETWORKS = _list("WEBHOOK_NETWORKS")
# WEBHOOK_CA_FILE: certificates (PEM) of authorities that webhooks trust beside those of the system.
WEBHOOK_CA_FILE = os.environ.get("WEBHOOK_CA_FILE", "")
# CHROMIUM_SANDBOX=0 where the process that prints PDF may make no namespaces, as in a container.
CHROMIUM_SANDBOX = os.environ.get("CHROMIUM_SANDBOX", "1") == "1"
# METRICS_TOKEN: lets a machine read /metrics and /health; without it only people who have signed in can.
METRICS_TOKEN = os.environ.get("METRICS_TOKEN", "")
# REQUIRE_SECOND_FACTOR: whose accounts do nothing without one: administrators, runners (and they) or everybody.
REQUIRE_SECOND_FACTOR = os.environ.get("REQUIRE_SECOND_FACTOR", "")
# Who has not opened a page for 12 hours signs in again (benchhub/accounts/middleware.py).
SESSION_COOKIE_AGE = 12 * 3600
# So long after the sign-in a session ends, however much it is used.
SESSION_LONGEST_AGE = 7 * 24 * 3600
# Browsers take such a name only from the site itself, over https: no neighbour's page can plant a session.
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = (f"{'__Host-' if HTTPS else ''}{name}" for name in ("sessionid", "csrftoken"))
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# BROKER_URL: redis://:password@host:port/0; it only wakes workers, the runs table is the queue.
CELERY_BROKER_URL = os.environ.get("BROKER_URL", "redis://127.0.0.1:6379/0")
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# A broker that becomes a replica, or takes no log-in for a while, is one that is away: the worker goes on after it.
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "visibility_timeout": 3600,
}
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_PUBLISH_RETRY = False
# LEASE_SECONDS: how long a worker may be silent before another one takes over what it drives. How often the ticker
# ticks and runs are looked at follows from it.
LEASE_SECONDS = float(os.environ.get("LEASE_SECONDS", "60"))
TICK_SECONDS = LEASE_SECONDS / 12
# A process that is silent within a transaction for as long as a lease has lost what it drives: see benchhub/silence.py.
LONGEST_SILENCE_S = LEASE_SECONDS
# LEAST_DEADLINE_SECONDS: no job is ended by its host before it has taken so long, however short it was expected to be.
LEAST_DEADLINE_SECONDS = int(os.environ.get("LEAST_DEADLINE_SECONDS", "1800"))
CELERY_BEAT_SCHEDULER = "benchhub.ticker:MonotonicScheduler"
CELERY_RESULT_EXPIRES = None  # no result is kept, so no clean-up is scheduled
CELERY_BEAT_SCHEDULE = {
    "tick": {"task": "bench.tick", "schedule": TICK_SECONDS, "kwargs": {"is_scheduled": True}},
}

REST_FRAMEWORK = {
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer", "benchhub.api.core.renderers.Page"],
    "DEFAULT_PARSER_CLASSES": ["benchhub.api.core.parsers.Json"],
    "DEFAULT_SCHEMA_CLASS": "benchhub.api.core.schema.Described",
    "EXCEPTION_HANDLER": "benchhub.api.core.problems.handler",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "BenchHub",
    "DESCRIPTION": "Everything that BenchHub does, for programs. Errors are RFC 9457 problem details.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    # The page to browse is for people; programs ask for JSON or CSV.
    "RENDERER_WHITELIST": ["rest_framework.renderers.JSONRenderer", "benchhub.api.core.renderers.Csv"],
    "POSTPROCESSING_HOOKS": ["benchhub.api.core.schema.complete"],
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "filters": {"without_tokens": {"()": "benchhub.log_filter.WithoutTokens"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["without_tokens"]}},
    "root": {"handlers": ["console"], "level": os.environ.get("LOG_LEVEL", "INFO")},
    "loggers": {"asyncssh": {"level": "WARNING"}},
}
