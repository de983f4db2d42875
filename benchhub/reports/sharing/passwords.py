"""Passwords of links: whoever types one gets an address that opens the page for an hour.

Nobody keeps a reader out by guessing wrong on purpose: tries are counted by where they come from, and somebody whom the
link has let in before is known by a cookie and counted alone. Strangers together have a ceiling, half of which is for
those who have guessed nothing wrong, so that guessing from everywhere makes them wait and does not shut them out.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse

from benchhub.accounts import audit
from benchhub.reports.models import Link, LinkTry

OPEN_FOR = timedelta(hours=1)
# So many tries of a minute: of a reader or place, of an area, of all strangers who have guessed before, of strangers.
TRIES, TRIES_OF_AREA, TRIES_OF_GUESSERS, TRIES_OF_STRANGERS = 5, 10, 15, 30
WAIT, KEPT_FOR = timedelta(minutes=1), timedelta(hours=1)
COOKIE, COOKIE_AGE = "reader", timedelta(days=180)
TOO_MANY = "Too many wrong passwords were tried. Wait a minute, then try again."
WRONG = "This password is wrong. Look for capitals and blanks, and try again."


def key(link: Link) -> str:
    """Sign the link and the time. A new password makes old keys useless, because it is part of the salt."""
    return signing.dumps(link.pk, salt=_salt(link), compress=False)


def opens(link: Link, password: str) -> bool:
    try:
        return bool(signing.loads(password, salt=_salt(link), max_age=OPEN_FOR) == link.pk)
    except signing.BadSignature:
        return False


def refusal(request: HttpRequest, link: Link, password: str) -> str:
    """Say why this password does not open the link; empty if it does. Who guesses has to wait."""
    own_try = _take_try(request, link)
    if own_try is None:
        return TOO_MANY
    if not link.accepts(password):
        return WRONG
    link.tries.filter(reader=own_try.reader, place=own_try.place).delete()
    return ""


def remember(request: HttpRequest, response: HttpResponse, link: Link, address: str) -> None:
    """Give whoever was let in a cookie for this link alone: it opens nothing, and counts their tries apart."""
    text = signing.dumps(_reader(request, link) or secrets.token_hex(16), salt=f"{_salt(link)}.reader")
    response.set_cookie(
        COOKIE, text, max_age=COOKIE_AGE, path=address, secure=settings.HTTPS, httponly=True, samesite="Lax"
    )


def _reader(request: HttpRequest, link: Link) -> str:
    try:
        text = request.COOKIES.get(COOKIE, "")[:500]
        return str(signing.loads(text, salt=f"{_salt(link)}.reader", max_age=COOKIE_AGE))
    except (signing.BadSignature, ValueError):
        return ""


def _take_try(request: HttpRequest, link: Link) -> LinkTry | None:
    """Count a try before it is checked, so that tries at one moment are not more than those one after the other."""
    place, area = audit.place(request), audit.area(request)
    own_try = LinkTry(link=link, reader=_reader(request, link), place=place, area=area)
    with transaction.atomic():
        Link.objects.select_for_update(no_key=True).only("pk").get(pk=link.pk)
        link.tries.filter(at__lte=Now() - KEPT_FOR).delete()
        if not _is_free(own_try):
            return None
        own_try.save()
    return own_try


def _is_free(own_try: LinkTry) -> bool:
    tries = own_try.link.tries.filter(reader=own_try.reader)
    recent = tries.filter(at__gt=Now() - WAIT)
    if own_try.reader:
        return recent.count() < TRIES
    is_of_area = Q(area=own_try.area)
    has_guessed = tries.filter(is_of_area).exists()
    return (
        recent.filter(place=own_try.place).count() < TRIES
        and recent.filter(is_of_area).count() < TRIES_OF_AREA
        and recent.count() < (TRIES_OF_GUESSERS if has_guessed else TRIES_OF_STRANGERS)
    )


def _salt(link: Link) -> str:
    return f"benchhub.link.{link.password}"
