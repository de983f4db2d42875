"""Browsers that have signed in before: those who guess a name's password elsewhere do not keep its owner out."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

COOKIE = "device"
SALT = "benchhub.device"
AGE = timedelta(days=180)


def device(request: HttpRequest | None, username: str) -> str:
    """Return the key of the browser if this user has signed in with it before, else an empty text."""
    text = request.COOKIES.get(COOKIE, "")[:500] if request else ""
    try:
        key, owner = signing.loads(text, salt=SALT, max_age=AGE)
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(key) if owner == username.lower() else ""


def remember(request: HttpRequest, response: HttpResponse, user: Any) -> None:
    """Give the browser a cookie that says that the user has signed in with it."""
    username = user.get_username()
    key = device(request, username) or secrets.token_hex(16)
    text = signing.dumps([key, username.lower()], salt=SALT)
    response.set_cookie(COOKIE, text, max_age=AGE, path="/login/", secure=settings.HTTPS, httponly=True, samesite="Lax")
