"""What the lists and forms of revised things share: hardware, licence models, configurations, workloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q
from django.http import HttpRequest

from benchhub.catalog.models.revised import RevisedQuerySet
from benchhub.ui.listing import Column, Filter, Listing

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
    """A list that begins with the current revisions only."""
    query = request.GET.copy()
    query.setdefault("revisions", "current")
    listing = Listing(query, rows.marked(), columns, default="name", **more)
    listing.is_narrowed = any(value for name, value in request.GET.items() if name not in ("sort", "page"))
    return listing


def note_revision(revision: int, uses: Sequence[tuple[int, str]]) -> str:
    """What saving an edit does: a new revision, which those that use the old one use from now on."""
    using = " and ".join(f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in uses if count)
    follow = f" What uses it now ({using}) will use the new one." if using else ""
    return f"Saving makes revision {revision}; what was measured keeps citing the one before.{follow}"
