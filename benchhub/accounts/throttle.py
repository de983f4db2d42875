"""Guessing passwords takes too long: failed sign-ins are counted in the audit log, whichever process answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models.functions import Now
from django.http import HttpRequest

from . import audit
from .models import Entry

WINDOW = timedelta(minutes=15)
# So many failures within the window: of one name from one place, of one place, of one name from anywhere.
MOST_OF_BOTH, MOST_OF_PLACE, MOST_OF_NAME = 5, 20, 50
REFUSED = "Too many failed attempts: wait 15 minutes, or ask an administrator for a new password."


def is_throttled(request: HttpRequest | None, username: str) -> bool:
    """Tell whether too much failed: of the name from here since it last succeeded, from here, or of the name."""
    failures = Entry.objects.filter(action=audit.FAILED, at__gt=Now() - WINDOW)
    name = username.replace("\0", "")[:150]
    name_failures = failures.filter(username__iexact=name)
    successes: Any = Entry.objects.filter(action=audit.SIGN_IN, username__iexact=name)
    last = successes.order_by("-pk").values_list("pk", flat=True).first() or 0
    place = audit.origin(request)
    return (
        name_failures.filter(pk__gt=last, origin=place).count() >= MOST_OF_BOTH
        or failures.filter(origin=place).count() >= MOST_OF_PLACE
        or name_failures.count() >= MOST_OF_NAME
    )
