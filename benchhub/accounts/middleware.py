"""Every page is guarded by policy.py, and every act is written into the audit log."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from . import audit, policy

# A page that refreshes itself says so in this header (frontend/templates/again.html).
REFRESH = "BenchHub-Refresh"
USED_AT, USED_EVERY_S = "used_at_s", 300  # not at each page, as each note is a write
Handler = Callable[[HttpRequest], HttpResponse]


class Guard:
    """Public pages and the API (which asks for itself) are those that need no sign-in."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, _args: Any, kwargs: dict[str, Any]) -> None:
        if not getattr(view, "login_required", True) or not request.user.is_authenticated:
            return
        note_use(request)
        name = request.resolver_match.view_name if request.resolver_match else ""
        if sentence := policy.refusal(request.user, name, kwargs):
            raise PermissionDenied(sentence)


def note_sign_in(request: HttpRequest, **_: Any) -> None:
    request.session[USED_AT] = int(time.time())


def note_use(request: HttpRequest) -> None:
    """Let the session last as long again, unless the page refreshes itself: only an idle session ends."""
    now_s = int(time.time())
    if REFRESH not in request.headers and now_s - request.session.get(USED_AT, 0) >= USED_EVERY_S:
        request.session[USED_AT] = now_s


def audited(get_response: Handler) -> Handler:
    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if audit.is_act(request, response):
            audit.note_request(request, response.status_code)
        return response

    return middleware
