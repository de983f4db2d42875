"""The main navigation: a line per entry. An entry is current on its own page and on those below its address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from benchhub.accounts import policy
from benchhub.accounts.rights import Hosts, Role, is_at_least

ENTRIES = (
    ("Home", "home"),
    ("Experiments", "experiments"),
    ("Queue", "queue"),
    ("Compare", "compare"),
    ("Comparisons", "comparisons"),
    ("Published", "published"),
    ("Hosts", "hosts"),
    ("Instances", "instances"),
    ("Hardware", "hardware-list"),
    ("Prices", "prices"),
    ("Configurations", "configurations"),
    ("Workloads", "workloads"),
    ("Users", "users"),
)
# Lists that one entry leads to beside its own.
BESIDE = {
    "experiments": ("results-import",),
    "prices": ("price-sheets", "licence-models", "exchange-rates"),
    "users": ("audit-log", "webhooks"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    title: str
    address: str
    is_current: bool


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Return the entries that the user may open, and `may`: what else role and permit allow.

    `may.run`, `may.administer`, and `key in may.hosts` for what runs on hosts: nothing is offered that is refused.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"navigation": [], "may": {}}
    entries = [(title, name) for title, name in ENTRIES if _exists(name) and not policy.refusal(user, name, {})]
    may = {
        "run": is_at_least(user, Role.RUNNER),
        "administer": is_at_least(user, Role.ADMINISTRATOR),
        "hosts": Hosts(user),
    }
    return {"navigation": [_entry(request, title, name) for title, name in entries], "may": may}


def _exists(name: str) -> bool:
    try:
        return bool(reverse(name))
    except NoReverseMatch:
        return False


def _entry(request: HttpRequest, title: str, name: str) -> Entry:
    address = reverse(name)
    below = (address, *map(reverse, BESIDE.get(name, ())))
    is_current = request.path == address if name == "home" else request.path.startswith(below)
    return Entry(title, address, is_current)
