"""Parts that the lists and forms of revised things share: hardware, licence models, configurations, workloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q
from django.http import HttpRequest

from benchhub.analysis.words import count, listing
from benchhub.catalog.models.revised import RevisedQuerySet
from benchhub.ui.listing import LEFT_OUT, Column, Filter, Listing

NO_SEARCH = frozenset({"sort", "page", LEFT_OUT})
REVISIONS = Filter(
    "revisions",
    "Revisions",
    {
        "current": ("current", Q(retired_at=None)),
        "retired": ("retired", Q(retired_at__isnull=False, is_replaced=False)),
        "older": ("replaced", Q(is_replaced=True)),
    },
)


def listing_of_revised(
    request: HttpRequest, rows: RevisedQuerySet, columns: Sequence[Column], **more: Any
) -> Listing[Any]:
    """Return a list that begins with the current revisions only."""
    query = request.GET.copy()
    query.setdefault("revisions", "current")
    rows_listed = Listing(query, rows.marked(), columns, default="name", **more)
    rows_listed.is_narrowed = any(value for name, value in request.GET.items() if name not in NO_SEARCH)
    return rows_listed


def note_revision(revision: int, uses: Sequence[tuple[int, str]]) -> str:
    """Say what saving an edit does: it makes a revision, which the users of the old one use from then on."""
    using = listing(count(number, noun) for number, noun in uses if number)
    follow = f" What uses it now ({using}) will use the new one." if using else ""
    return f"Saving makes revision {revision}; what was measured keeps citing the one before.{follow}"
