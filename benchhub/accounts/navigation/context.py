"""What every page shows around its content: the groups of the menu, and what the reader may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from benchhub.accounts.rights import Hosts, Role, is_at_least

from .pages import GROUPS, Group, Page


@dataclass(frozen=True, slots=True)
class Entry:
    title: str
    address: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """A group as one user sees it, with at least one entry."""

    title: str
    entries: tuple[Entry, ...]

    @property
    def is_current(self) -> bool:
        return any(entry.is_current for entry in self.entries)


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Return the groups with what the user may open, and `may`: what else role and permit allow.

    `may.run`, `may.administer`, and `key in may.hosts` for what runs on hosts: nothing is offered that is refused.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"navigation": [], "may": {}}
    may = {
        "run": is_at_least(user, Role.RUNNER),
        "administer": is_at_least(user, Role.ADMINISTRATOR),
        "hosts": Hosts(user),
    }
    current = _current(request.path)
    menus = [_menu(group, user, current) for group in GROUPS]
    return {"navigation": [menu for menu in menus if menu.entries], "may": may}


def _current(path: str) -> Page | None:
    """Return the page that the path leads to or lies under; None for none."""
    pages = [page for group in GROUPS for page in group.pages if page.reach(path)]
    return max(pages, key=lambda page: page.reach(path), default=None)


def _menu(group: Group, user: Any, current: Page | None) -> Menu:
    pages = [page for page in group.pages if page.is_open_to(user)]
    return Menu(group.title, tuple(Entry(page.title, page.address, page == current) for page in pages))
