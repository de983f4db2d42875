"""The installation's rule who signs in with a second factor only: REQUIRE_SECOND_FACTOR."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from benchhub.accounts.rights import Role, is_at_least

from . import codes

LEAST_ROLES = {"administrators": Role.ADMINISTRATOR, "runners": Role.RUNNER, "everybody": Role.VIEWER}
MISSING = "This installation asks your role for a second factor: set one up on the page of your account."
# What leads to a second factor, and out.
OPEN = frozenset({"second-factor-add", "password-change", "logout"})


def is_missing(user: Any) -> bool:
    """Tell whether the rule asks this user for a second factor that has not been set up."""
    least = least_role()
    return least is not None and is_at_least(user, least) and not codes.is_needed(user)


def least_role() -> Role | None:
    """Return the lowest role that the rule binds; None where it binds nobody."""
    word = settings.REQUIRE_SECOND_FACTOR
    if word and word not in LEAST_ROLES:
        raise ImproperlyConfigured(f"REQUIRE_SECOND_FACTOR is '{word}': write {', '.join(LEAST_ROLES)}, or nothing.")
    return LEAST_ROLES.get(word)
