"""The audit log: what is an act, and who did it from where."""

from __future__ import annotations

import ipaddress
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse

from benchhub.ui.acts import detail

from .devices import AGE, device
from .models import Entry

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
SIGN_IN, SIGN_OUT, FAILED, FAILED_STRANGER = "sign in", "sign out", "failed sign in", "failed sign in, no such user"
CODE_ASKED = "right password, code asked"
WRONG_TOKEN, WRONG_LINK_PASSWORD = "wrong token", "wrong password of a link"
# So much that failed is written down, of one place within the window.
WINDOW, MOST_OF_PLACE = timedelta(minutes=15), 20
# So many refused keys of a kind are written down, whatever the places, and so many failed sign-ins of a user: the log
# is never emptied.
REFUSED_WINDOW, MOST_REFUSED, MOST_FAILED = timedelta(hours=1), 100, 60
LAST_REFUSED = "More of this kind are not written down within an hour."
# Whoever has one IPv6 address has all of its network, and often all networks of a site.
PLACE_BITS, AREA_BITS = (32, 64), (24, 48)


def is_act(request: HttpRequest, response: HttpResponse) -> bool:
    """Tell whether something was done or refused. A form that is shown again, with 200, has done nothing."""
    if request.method in SAFE or not getattr(request, "user", None) or not request.user.is_authenticated:
        return False
    match = request.resolver_match
    if match is None or match.view_name in ("login", "logout", "second-factor"):  # noted by their signals
        return False
    if match.view_name.startswith("shared"):  # the password of a link is no act, and its address is a secret
        return False
    return is_api(request) or response.status_code != 200


def is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def note_request(request: HttpRequest, status: int, action: str = "") -> None:
    """Write a request into the audit log; without `action` it is called by the name of the page."""
    match = request.resolver_match
    token = getattr(request, "auth", None)
    Entry.objects.create(
        user=request.user,  # type: ignore[misc]  # is_act has seen that somebody is signed in
        username=request.user.get_username(),
        token=str(token or "")[:80],
        way=Entry.Way.API if is_api(request) else Entry.Way.WEB,
        action=(action or (match.view_name if match else "").removeprefix("api:").replace("-", " "))[:80],
        address=f"{request.method} {request.path}"[:300],
        status=status,
        origin=origin(request),
        detail=detail(request),
    )


def note_refused_key(request: HttpRequest, action: str, address: str) -> None:
    """Write a wrong token, or a wrong password of a link, into the audit log: so many of a place, and of all."""
    entries = Entry.objects.filter(action=action)
    count = entries.filter(at__gt=Now() - REFUSED_WINDOW).count()
    is_full = entries.filter(_from_place(request), at__gt=Now() - WINDOW).count() >= MOST_OF_PLACE
    if is_full or count >= MOST_REFUSED:
        return
    way = Entry.Way.API if is_api(request) else Entry.Way.WEB
    remark = LAST_REFUSED if count == MOST_REFUSED - 1 else ""
    Entry.objects.create(
        way=way, action=action, address=address[:300], status=401, origin=origin(request), detail=remark
    )


def note_command(action: str) -> None:
    """Write what the operator did by a command, who has the machine and no name here."""
    Entry.objects.create(username="manage.py", way=Entry.Way.COMMAND, action=action[:80], status=200)


def note_changed_key(host: str, sentence: str) -> None:
    """Write that a worker met another host key than the approved one, and sent nothing: somebody may be in between."""
    action = f"host key of {host} changed"
    Entry.objects.create(username="worker", way=Entry.Way.COMMAND, action=action[:80], status=409, detail=sentence)


def origin(request: HttpRequest | None) -> str | None:
    """Return the network address of a request; behind a proxy (HTTPS=1) the one that the proxy has written."""
    meta: dict[str, Any] = request.META if request else {}
    forwarded = meta.get("HTTP_X_FORWARDED_FOR", "") if settings.HTTPS else ""
    text = forwarded.rpartition(",")[2].strip() or meta.get("REMOTE_ADDR", "")
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)


def place(request: HttpRequest | None) -> str:
    """Return the network by which attempts are counted: an IPv4 address, or 64 bits of an IPv6 address."""
    return str(_network(request, PLACE_BITS) or "")


def area(request: HttpRequest | None) -> str:
    """Return the wider network by which attempts are counted: 24 bits of an IPv4 address, 48 of an IPv6 address."""
    return str(_network(request, AREA_BITS) or "")


def _from_place(request: HttpRequest | None) -> Q:
    """Return the condition for entries from the same place as a request."""
    network = _network(request, PLACE_BITS)
    return Q(origin__range=(str(network[0]), str(network[-1]))) if network else Q(origin=None)


def has_signed_in_here(request: HttpRequest | None, username: str) -> bool:
    """Tell whether somebody of this name has signed in from the same place before."""
    entries = Entry.objects.filter(_from_place(request), action=SIGN_IN, at__gt=Now() - AGE)
    return origin(request) is not None and entries.filter(username__iexact=clean_name(username)).exists()


def _network(
    request: HttpRequest | None, bits: tuple[int, int]
) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    text = origin(request)
    return ipaddress.ip_network(f"{text}/{bits[':' in text]}", strict=False) if text else None


def note_sign(
    action: str, request: HttpRequest | None, username: str, user: Any = None, status: int = 200, detail: str = ""
) -> None:
    Entry.objects.create(
        user=user,
        username=clean_name(username),
        device=device(request, username),
        way=Entry.Way.WEB,
        action=action,
        address=(request.path if request else "")[:300],
        status=status,
        origin=origin(request),
        detail=detail,
    )


def note_failed(request: HttpRequest | None, username: str, user: Any = None) -> None:
    """Write a failed sign-in into the audit log: so many of each user, and of all names that are nobody's."""
    name = clean_name(username)
    is_user = get_user_model().objects.filter(username__iexact=name).exists()
    action, most = (FAILED, MOST_FAILED) if is_user else (FAILED_STRANGER, MOST_REFUSED)
    entries = Entry.objects.filter(action=action, at__gt=Now() - REFUSED_WINDOW)
    count = (entries.filter(username__iexact=name) if is_user else entries).count()
    if count < most:
        note_sign(action, request, name, user, 401, LAST_REFUSED if count == most - 1 else "")


def clean_name(username: str) -> str:
    """Return a name as the audit log keeps it."""
    return username.replace("\0", "")[:150]


def listen() -> None:
    user_logged_in.connect(_signed_in, dispatch_uid="audit")
    user_logged_out.connect(_signed_out, dispatch_uid="audit")
    user_login_failed.connect(_failed, dispatch_uid="audit")


def _signed_in(request: HttpRequest, user: Any, **_: Any) -> None:
    note_sign(SIGN_IN, request, user.get_username(), user)


def _signed_out(request: HttpRequest, user: Any, **_: Any) -> None:
    if user is not None:
        note_sign(SIGN_OUT, request, user.get_username(), user)


def _failed(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    note_failed(request, str(credentials.get("username", "")))
