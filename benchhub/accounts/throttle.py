"""Guessing passwords takes too long: failed sign-ins are counted in the audit log, whichever process answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from django import forms
from django.db import connection, transaction
from django.db.models.functions import Now
from django.http import HttpRequest

from . import audit
from .devices import device
from .models import Entry

# So many failures within the window: of one name from one place, of one name from anywhere.
MOST_OF_BOTH, MOST_OF_NAME = 5, 50
REFUSED = "Too many failed attempts: wait 15 minutes, or ask an administrator for a new password."
WRONG_PASSWORD = "This password is wrong."  # a sentence
BUSY = "Another attempt with this name is being checked: try again in a second."


def is_throttled(request: HttpRequest | None, username: str) -> bool:
    """Tell whether too much failed: of the name from here since it last succeeded, from here, or of the name.

    Where the user has signed in with the same browser before, only what failed with that browser counts.
    """
    failures = Entry.objects.filter(action=audit.FAILED, at__gt=Now() - audit.WINDOW)
    name = clean_name(username)
    name_failures = failures.filter(username__iexact=name)
    successes: Any = Entry.objects.filter(action=audit.SIGN_IN, username__iexact=name)
    if key := device(request, name):
        last = _newest(successes.filter(device=key))
        return name_failures.filter(pk__gt=last, device=key).count() >= MOST_OF_BOTH
    is_here = audit.from_place(request)
    return (
        name_failures.filter(is_here, pk__gt=_newest(successes)).count() >= MOST_OF_BOTH
        or failures.filter(is_here).count() >= audit.MOST_OF_PLACE
        or name_failures.count() >= MOST_OF_NAME
    )


def checked(request: HttpRequest, user: Any, is_right: Callable[[], bool], refusal: str) -> str:
    """Check a secret of somebody as seldom as the sign-in does, and say why it is not accepted; empty if it is.

    The sentence is returned out of the turn, or the failure would not be kept.
    """
    username = user.get_username()
    with in_turn(request, username) as is_alone:
        if not is_alone:
            return BUSY
        if is_throttled(request, username):
            return REFUSED
        if is_right():
            return ""
        audit.note_sign(audit.FAILED, request, username, user, HTTPStatus.UNAUTHORIZED)
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


def clean_name(username: str) -> str:
    """Return a name as the audit log keeps it."""
    return username.replace("\0", "")[:150]


@contextmanager
def in_turn(request: HttpRequest | None, username: str) -> Iterator[bool]:
    """Let the attempts of one place follow each other, so that each is counted before the next is checked.

    Yields False if another attempt with the same name from the same place is under way.
    """
    place = audit.place(request)
    with transaction.atomic():
        is_alone = _lock("pg_try_advisory_xact_lock", f"sign in {clean_name(username).lower()} {place}")
        if is_alone:
            _lock("pg_advisory_xact_lock", f"sign in {place}")
        yield is_alone


def _newest(entries: Any) -> int:
    return entries.order_by("-pk").values_list("pk", flat=True).first() or 0


def _lock(function: str, name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [name])
        return bool(cursor.fetchone()[0])
