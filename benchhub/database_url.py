"""DATABASE_URL -> Django's DATABASES entry."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

FORM = "DATABASE_URL must read postgresql://user:password@host:port/name"

# A server that is lost with its machine is noticed within a minute or so; the system by itself takes hours.
NOTICED: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}


def database_settings(url: str) -> dict[str, Any]:
    """Read postgresql://user:password@host:port/name?sslmode=require. Raises ValueError with the fault."""
    try:
        parts = urlsplit(url)
        port = parts.port  # raises where it is no number of a port
    except ValueError as error:
        raise ValueError(f"{FORM}: {error}") from error
    if parts.scheme not in ("postgresql", "postgres") or len(parts.path) < 2:
        raise ValueError(FORM)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path[1:]),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(port or ""),
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**NOTICED, **dict(parse_qsl(parts.query))},
    }
