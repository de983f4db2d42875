"""Passwords of links: whoever types one gets an address that opens the page for an hour; no cookie is set."""

from __future__ import annotations

from datetime import timedelta

from django.core import signing
from django.db.models import F, Q
from django.db.models.functions import Now

from benchhub.reports.models import Link

OPEN_FOR = timedelta(hours=1)
TRIES = 5
WAIT = timedelta(minutes=1)


def key(link: Link) -> str:
    """Sign the link and the time. A new password makes old keys useless, because it is part of the salt."""
    return signing.dumps(link.pk, salt=_salt(link), compress=False)


def opens(link: Link, password: str) -> bool:
    try:
        return bool(signing.loads(password, salt=_salt(link), max_age=OPEN_FOR) == link.pk)
    except signing.BadSignature:
        return False


def refusal(link: Link, password: str) -> str:
    """Say why this password does not open the link; empty if it does. Who guesses has to wait."""
    if not _take_try(link):
        return "Too many wrong passwords were tried. Wait a minute, then try again."
    if not link.accepts(password):
        return "This password is wrong. Ask whoever sent you the link."
    Link.objects.filter(pk=link.pk).update(failures=0)
    return ""


def _take_try(link: Link) -> bool:
    """Count a try before it is checked, so that tries at one moment are not more than those one after the other."""
    may_try = Q(failures__lt=TRIES) | Q(failed_at=None) | Q(failed_at__lte=Now() - WAIT)
    tries = Link.objects.filter(may_try, pk=link.pk)
    return bool(tries.update(failures=F("failures") + 1, failed_at=Now()))


def _salt(link: Link) -> str:
    return f"benchhub.link.{link.password}"
