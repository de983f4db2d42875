"""Every page is guarded by policy.py, and every act is written into the audit log."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from . import audit, policy
from .second_factor import required

# A page that refreshes itself says so in this header (frontend/templates/again.html).
REFRESH = "BenchHub-Refresh"
SIGNED_IN_AT, USED_AT, USED_EVERY_S = "signed_in_at_s", "used_at_s", 300  # not at each page, as each note is a write
Handler = Callable[[HttpRequest], HttpResponse]


class Guard:
    """Public pages and the API (which asks for itself) are those that need no sign-in."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, _args: Any, kwargs: dict[str, Any]) -> HttpResponse | None:
        if not getattr(view, "login_required", True) or not request.user.is_authenticated:
            return None
        note_use(request)
        name = request.resolver_match.view_name if request.resolver_match else ""
        if name not in required.OPEN and required.is_missing(request.user):
            return redirect("second-factor-add")
        if sentence := policy.refusal(request.user, name, kwargs):
            raise PermissionDenied(sentence)
        return None


def note_sign_in(request: HttpRequest, **_: Any) -> None:
    request.session[SIGNED_IN_AT] = int(time.time())
    _prolong(request.session)


def note_use(request: HttpRequest) -> None:
    """Let the session last as long again, unless the page refreshes itself; some days after the sign-in it ends."""
    if REFRESH not in request.headers and time.time() - request.session.get(USED_AT, 0) >= USED_EVERY_S:
        _prolong(request.session)


def _prolong(session: Any) -> None:
    """Set the moment at which the session ends unless it is used. The store itself opens none that has ended."""
    session[USED_AT] = now_s = int(time.time())
    last_s = session.setdefault(SIGNED_IN_AT, now_s) + settings.SESSION_LONGEST_AGE
    session.set_expiry(datetime.fromtimestamp(min(now_s + settings.SESSION_COOKIE_AGE, last_s), UTC))


def audited(get_response: Handler) -> Handler:
    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if audit.is_act(request, response):
            audit.note_request(request, response.status_code)
        return response

    return middleware
