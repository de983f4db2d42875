"""Who may send a long body: somebody with a token that is good, or who is signed in."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from importlib import import_module

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.db import close_old_connections

from benchhub.accounts import tokens

from .request import Headers

BEARER = "bearer "


def may_send(headers: Headers) -> bool:
    """Tell whether the sender is known. The view decides what they may do; this alone keeps strangers' bodies out."""
    close_old_connections()
    authorization = headers.get("AUTHORIZATION", "")
    if authorization.lower().startswith(BEARER):
        return tokens.find(authorization[len(BEARER) :].strip()) is not None
    return _is_signed_in(headers.get("COOKIE", ""))


def _is_signed_in(cookies: str) -> bool:
    try:
        morsel = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return False
    if morsel is None:
        return False
    session = import_module(settings.SESSION_ENGINE).SessionStore(morsel.value)
    user = get_user_model().objects.filter(pk=session.get(SESSION_KEY), is_active=True).first()
    return user is not None and session.get(HASH_SESSION_KEY) == user.get_session_auth_hash()
