"""Who may send a long body: somebody with a token that is good, or who is signed in."""

from __future__ import annotations

import time
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from importlib import import_module

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.db import OperationalError, close_old_connections, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from benchhub.accounts import tokens

from .request import Headers, UnaskedError

BEARER = "bearer "
HASTE = {"connect_timeout": 2, "tcp_user_timeout": 2000, "options": "-c statement_timeout=1000"}

SILENT = "The warehouse does not answer: try again later."
# So long the warehouse is not asked after it has not answered.
REST_S = 10


@dataclass
class Rest:
    """Until when the warehouse is left alone, by the clock of this machine."""

    until_s: float = 0


_rest = Rest()


def may_send(headers: Headers) -> bool:
    """Tell whether the sender is known. The view decides what they may do; this alone keeps strangers' bodies out.

    It is asked in the thread that reads and writes for all connections. Raises UnaskedError, soon, where the warehouse
    does not answer, and at once for some seconds more: heads in a row would hold that thread for ever.
    """
    if time.monotonic() < _rest.until_s:
        raise UnaskedError(SILENT)
    try:
        _hasten(connection)
        return _is_somebody(headers)
    except OperationalError as error:
        connection.close()
        _rest.until_s = time.monotonic() + REST_S
        raise UnaskedError(SILENT) from error


def _hasten(wrapper: BaseDatabaseWrapper) -> None:
    """Have this thread's connection wait for the warehouse no longer than all others can wait for it."""
    options = wrapper.settings_dict["OPTIONS"]
    if not HASTE.items() <= options.items():
        wrapper.close()
        # Other threads share the former settings.
        wrapper.settings_dict = {
            **wrapper.settings_dict,
            "OPTIONS": {**options, **HASTE},
        }


def _is_somebody(headers: Headers) -> bool:
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
