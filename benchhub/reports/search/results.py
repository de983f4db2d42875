"""The hits of a search: of each kind that the user may open, as many as an eye takes in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from textwrap import shorten
from typing import Any

from django.urls import reverse

from benchhub.accounts import policy
from benchhub.accounts.navigation import open_pages
from benchhub.analysis.words import count
from benchhub.reports.published import files

from .kinds import KINDS, Kind

MOST_HITS = 5  # of one kind
MOST_UNDER = 90  # characters of the line under a hit
MOST_WORDS, MOST_CHARACTERS = 8, 200


@dataclass(frozen=True, slots=True)
class Hit:
    title: str
    address: str
    under: str = ""


@dataclass(frozen=True, slots=True)
class Hits:
    """The hits of one kind; `is_cut` says that there are more than are shown."""

    title: str
    hits: tuple[Hit, ...]
    is_cut: bool = False


@dataclass(frozen=True)
class SearchPage:
    """What a user finds by a text. Each word must stand somewhere in a hit, whatever its case."""

    text: str
    user: Any

    @classmethod
    def read(cls, text: str, user: Any) -> SearchPage:
        return cls(text.replace("\0", "").strip()[:MOST_CHARACTERS], user)

    @cached_property
    def words(self) -> list[str]:
        return self.text.split()[:MOST_WORDS]

    @cached_property
    def groups(self) -> list[Hits]:
        """Return what is found by kind, a bounded query each; pages come first where a title begins with the text."""
        if not self.words:
            return []
        kinds = [kind for kind in KINDS if not policy.refusal(self.user, kind.page, {})]
        pages, things = self._pages(), [*map(self._hits, kinds), self._reports()]
        is_title = any(self._begins(hit.title) for hit in pages.hits)
        groups = [pages, *things] if is_title else [*things, pages]
        return [group for group in groups if group.hits]

    @property
    def count_text(self) -> str:
        """Say how many hits are shown, for those who do not see them."""
        total = sum(len(group.hits) for group in self.groups)
        return f"{count(total, 'hit')}; Enter opens the first." if total else "Nothing found."

    def _hits(self, kind: Kind) -> Hits:
        rows = list(kind.matches(self.words)[: MOST_HITS + 1])
        hits = tuple(
            Hit(str(row), kind.address(row), shorten(kind.under(row), MOST_UNDER, placeholder=" …"))
            for row in rows[:MOST_HITS]
        )
        return Hits(kind.title, hits, len(rows) > MOST_HITS)

    def _pages(self) -> Hits:
        pages = [page for page in open_pages(self.user) if self._is_in(f"{page.title} {page.words}")]
        # Whose title begins with the text comes first: 'que' is the queue.
        pages.sort(key=lambda page: not self._begins(page.title))
        hits = tuple(Hit(page.title, page.address) for page in pages[:MOST_HITS])
        return Hits("Pages", hits, len(pages) > MOST_HITS)

    def _reports(self) -> Hits:
        abouts = [report.about for report in files.reports()]
        abouts = [about for about in abouts if self._is_in(f"{about['title']} {about['who']} {about['compared']}")]
        hits = tuple(
            Hit(about["title"], reverse("published-report", args=[about["slug"]]), about["who"]) for about in abouts
        )
        return Hits("Published reports", hits[:MOST_HITS], len(hits) > MOST_HITS)

    def _begins(self, title: str) -> bool:
        return title.lower().startswith(self.text.lower())

    def _is_in(self, text: str) -> bool:
        return all(word.lower() in text.lower() for word in self.words)
