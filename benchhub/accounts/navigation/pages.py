"""The pages of the main navigation: a line per page, in the groups that the menu shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import NoReverseMatch, reverse

from benchhub.accounts import policy


@dataclass(frozen=True, slots=True)
class Page:
    """A page by its name in urls.py.

    `below` begins the addresses of pages that belong to it and do not lie under its own; `words` are other words by
    which the search finds it.
    """

    title: str
    name: str
    below: tuple[str, ...] = ()
    words: str = ""

    @property
    def address(self) -> str:
        """Return where it is; empty where urls.py has no such page."""
        try:
            return reverse(self.name)
        except NoReverseMatch:
            return ""

    def is_open_to(self, user: Any) -> bool:
        """Tell whether the user may open it; the API asks for itself."""
        return bool(self.address) and (":" in self.name or not policy.refusal(user, self.name, {}))

    def reach(self, path: str) -> int:
        """Return how much of the path leads to this page: that with the longest reach is the one that is shown."""
        return max((len(start) for start in (self.address, *self.below) if start and path.startswith(start)), default=0)


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    pages: tuple[Page, ...]


GROUPS = (
    Group("Results", (
        Page("Experiments", "experiments", ("/runs/", "/designs/"), "results curves runs"),
        Page("Compare", "compare", words="curves side by side"),
        Page("Comparisons", "comparisons", ("/snapshots/", "/links/"), "snapshots links shared reports"),
        Page("Leaderboard", "leaderboard", words="best fastest cheapest ranking"),
        Page("Published", "published", words="published reports of others"),
        Page("Import results", "results-import", words="paste upload bring in"),
        Page("API", "api-reference", ("/api/",), "programs rest openapi swagger json tokens client reference"),
    )),
    Group("Plan", (
        Page("Plan an experiment", "experiment-new", words="new benchmark"),
        Page("Tuning series", "tuning-list", words="tune step by step settings factorial waterfall"),
        Page("Published methods", "presets", words="presets templates"),
        Page("Queue", "queue", words="waiting order pause"),
        Page("Calendar", "calendar", words="week windows reservations recurring"),
    )),
    Group("Systems", (
        Page("Hosts", "hosts", words="machines servers ssh keys"),
        Page("Instances", "instances", words="postgresql servers databases"),
        Page("Hardware", "hardware-list", words="profiles cores sockets"),
        Page("Configurations", "configurations", words="settings postgresql.conf"),
        Page("Workloads", "workloads", words="pgbench sysbench tatp scripts"),
    )),
    Group("Prices", (
        Page("List prices", "prices", words="costs money"),
        Page("Price sheets", "price-sheets", words="quotes offers discounts costs"),
        Page("Licence models", "licence-models", words="licences licenses subscriptions"),
        Page("Exchange rates", "exchange-rates", words="currencies"),
    )),
    Group("Admin", (
        Page("Users", "users", words="accounts roles permits"),
        Page("Audit log", "audit-log", words="who did what"),
        Page("Webhooks", "webhooks", words="notices"),
        Page("Archive", "archive", words="old files retention s3 disk space"),
    )),
)  # fmt: skip
# Pages that the menu has elsewhere and the search finds as well.
ELSEWHERE = (Page("Home", "home", words="board start"), Page("Your account", "account", words="password tokens"))


def open_pages(user: Any) -> list[Page]:
    """Return every page that the search may lead this user to."""
    pages = [*ELSEWHERE, *(page for group in GROUPS for page in group.pages)]
    return [page for page in pages if page.is_open_to(user)]
