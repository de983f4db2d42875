"""Guessing passwords takes too long: failed sign-ins are counted in the warehouse, whichever process answers.

Nobody keeps a user out by guessing wrong on purpose, where the user is known: by the open session, by the browser, or
by having signed in from that place. What fails there is counted alone, and waits for nobody else's guesses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.db import connection, transaction
from django.db.models import DurationField, ExpressionWrapper, F, Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from . import audit
from .devices import device
from .models import Failure

# So many failures within the window: of one name from one place, of one name from anywhere.
MOST_OF_BOTH, MOST_OF_NAME = 5, 50
# So many failures of all names and places are kept; each takes the time of a slow hash, so few windows have as many.
MOST_KEPT = 20_000
REFUSED = "Too many failed attempts."
WRONG_PASSWORD = "This password is wrong."  # a sentence
BUSY = "Another attempt with this name is being checked: try again in a second."


def throttled_for_s(request: HttpRequest | None, username: str) -> int:
    """Return in how many seconds the next attempt is looked at; 0 where this one is.

    Too much may have failed of the name from here since it last succeeded, from here, or of the name. Where the user
    is known, only what failed of the name in that session, with that browser or from that place counts.
    """
    failures = Failure.objects.filter(at__gt=Now() - audit.WINDOW)
    name_failures = failures.filter(name_digest=_digest(username))
    if key := _own_key(request, username):
        return _seconds_full(name_failures.filter(device=key), MOST_OF_BOTH)
    place = audit.place(request)
    seconds = _seconds_full(name_failures.filter(place=place), MOST_OF_BOTH)
    if audit.has_signed_in_here(request, username):
        return seconds
    return max(
        seconds,
        _seconds_full(failures.filter(place=place), audit.MOST_OF_PLACE),
        _seconds_full(name_failures, MOST_OF_NAME),
    )


def _own_key(request: HttpRequest | None, username: str) -> str:
    """Return by which key the attempts of a session or browser of the user are counted; empty for a stranger's."""
    name = audit.clean_name(username)
    user = getattr(request, "user", None)
    if request and user and user.is_authenticated and user.get_username() == name:
        return salted_hmac("benchhub.session", request.session.session_key or "", algorithm="sha256").hexdigest()[:32]
    return device(request, name)


def _seconds_full(failures: QuerySet[Failure], most: int) -> int:
    """Return in how many seconds fewer than `most` are left of the failures; 0 where that is so now."""
    left = F("at") + audit.WINDOW - Now()
    rows = failures.order_by("-at").annotate(left=ExpressionWrapper(left, output_field=DurationField()))
    last = rows.values_list("left", flat=True)[most - 1 : most].first()
    return math.ceil(last.total_seconds()) if last else 0


def refused_text(seconds: int) -> str:
    """Say that too much failed, and when the next attempt is looked at."""
    return f"{REFUSED} Try again in {math.ceil(seconds / 60)} min, or ask an administrator for a new password."


def checked(request: HttpRequest, user: Any, is_right: Callable[[], bool], refusal: str) -> str:
    """Check a secret of somebody as seldom as the sign-in does, and say why it is not accepted; empty if it is.

    The sentence is returned out of the turn, or the failure would not be kept.
    """
    username = user.get_username()
    with in_turn(request, username) as is_alone:
        if not is_alone:
            return BUSY
        if seconds := throttled_for_s(request, username):
            return refused_text(seconds)
        if is_right():
            return ""
        audit.note_failed(request, username, user)
        _count(request, username)
        return refusal


def check_password(request: HttpRequest, user: Any, password: str) -> str:
    """Say why a password that a form of the account asks for again is not accepted; empty if it is."""
    return checked(request, user, lambda: bool(user.check_password(password)), WRONG_PASSWORD)


def password_field(*, required: bool = True, help_text: str = "") -> forms.CharField:
    return forms.CharField(
        required=required,
        help_text=help_text,
        strip=False,
        max_length=4096,
        label="Your password",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


@contextmanager
def in_turn(request: HttpRequest | None, username: str) -> Iterator[bool]:
    """Let the attempts of one place follow each other, so that each is counted before the next is checked.

    Yields False if another attempt with the same name from the same session, browser or place is under way. Whoever is
    known has a turn of their own: crowds of guesses from the same place do not hold it up.
    """
    place, key = audit.place(request), _own_key(request, username)
    with transaction.atomic():
        name = audit.clean_name(username).lower()
        is_alone = _lock("pg_try_advisory_xact_lock", f"sign in {name} {key or place}")
        if is_alone and not key and not audit.has_signed_in_here(request, username):
            _lock("pg_advisory_xact_lock", f"sign in {place}")
        yield is_alone


def listen() -> None:
    user_login_failed.connect(_failed, dispatch_uid="throttle")
    user_logged_in.connect(_succeeded, dispatch_uid="throttle")


def _failed(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    _count(request, str(credentials.get("username", "")))


def _succeeded(request: HttpRequest, user: Any, **_: Any) -> None:
    """Forget what failed of the name from here; guesses of it elsewhere, and of other names, still count."""
    name = user.get_username()
    is_here = Q(place=audit.place(request), device="")
    if key := device(request, name):
        is_here |= Q(device=key)
    Failure.objects.filter(is_here, name_digest=_digest(name)).delete()


def _count(request: HttpRequest | None, username: str) -> None:
    """Note a failure, and remove those that count no more. A flood pushes out old ones and locks nobody out."""
    key = _own_key(request, username)
    Failure.objects.create(name_digest=_digest(username), place=audit.place(request), device=key)
    rows = Failure.objects.order_by("-pk")
    surplus = rows.values_list("pk", flat=True)[MOST_KEPT : MOST_KEPT + 1].first() or 0
    ended = rows.filter(Q(at__lte=Now() - audit.WINDOW) | Q(pk__lte=surplus)).select_for_update(skip_locked=True)
    with transaction.atomic():
        Failure.objects.filter(pk__in=list(ended.values_list("pk", flat=True))).delete()


def _digest(username: str) -> str:
    return salted_hmac("benchhub.failure", audit.clean_name(username).lower(), algorithm="sha256").hexdigest()


def _lock(function: str, name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [name])
        return bool(cursor.fetchone()[0])
