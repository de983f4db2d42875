"""The password of a link: who types it gets an address that opens the page for an hour; no cookie is set."""

from __future__ import annotations

from datetime import timedelta

from django.core import signing
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from benchhub.reports.models import Link

OPEN_FOR = timedelta(hours=1)
TRIES = 5
WAIT = timedelta(minutes=1)


def key(of: Link) -> str:
    """Signed with the time. A new password makes old keys useless, because it is part of the salt."""
    return signing.dumps(of.pk, salt=_salt(of), compress=False)


def opens(of: Link, given: str) -> bool:
    try:
        return bool(signing.loads(given, salt=_salt(of), max_age=OPEN_FOR) == of.pk)
    except signing.BadSignature:
        return False


def refusal(of: Link, typed: str) -> str:
    """Why this password does not open the link; empty if it does. Who guesses has to wait."""
    now = timezone.now()
    if of.failures >= TRIES and of.failed_at and of.failed_at > now - WAIT:
        return "Too many wrong passwords were tried. Wait a minute, then try again."
    if not of.accepts(typed):
        Link.objects.filter(pk=of.pk).update(failures=F("failures") + 1, failed_at=Now())
        return "This password is wrong. Ask whoever sent you the link."
    Link.objects.filter(pk=of.pk, failures__gt=0).update(failures=0)
    return ""


def _salt(of: Link) -> str:
    return f"benchhub.link.{of.password}"
