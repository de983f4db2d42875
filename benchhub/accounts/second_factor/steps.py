"""Between password and code: who has typed the right password is remembered for minutes, and is not signed in."""

from __future__ import annotations

import hmac
import time
from typing import Any

from django.contrib.auth import get_user_model, login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from benchhub.accounts import audit

PENDING = "second_factor"
LONGEST_S = 300


def begin(request: HttpRequest, user: Any, address: str) -> HttpResponse:
    """Ask for the code of whoever typed the right password; the session gets a new key and opens nothing yet."""
    request.session.cycle_key()
    audit.note_sign(audit.CODE_ASKED, request, user.get_username(), user)
    request.session[PENDING] = {
        "user": user.pk,
        "backend": user.backend,
        "digest": user.get_session_auth_hash(),
        "begun_s": int(time.time()),
        "address": address,
    }
    return redirect("second-factor")


def pending_user(request: HttpRequest) -> Any:
    """Return who has typed the right password a moment ago, and has not changed it or been shut out since; or None."""
    pending = request.session.get(PENDING)
    if not pending or not 0 <= time.time() - pending["begun_s"] <= LONGEST_S:
        return None
    user = get_user_model().objects.filter(pk=pending["user"], is_active=True).first()
    is_same = user is not None and hmac.compare_digest(pending["digest"], user.get_session_auth_hash())
    return user if is_same else None


def finish(request: HttpRequest, user: Any) -> HttpResponse:
    pending = request.session.pop(PENDING)
    login(request, user, backend=pending["backend"])
    return redirect(pending["address"])
