"""Which list prices behind a snapshot were taken back since."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from django.db.models import QuerySet

from benchhub.analysis.snapshot import canonical, citations
from benchhub.analysis.snapshot.taken_back import TakenBack
from benchhub.catalog.models import ListPrice
from benchhub.reports.models import Snapshot

SNAPSHOTS_KEPT = 256


def rows(snapshot_pk: int) -> QuerySet[ListPrice]:
    """Return the list prices, taken back by now, that the prices of a snapshot cite; it keeps its numbers."""
    return _taken_back(_numbers(snapshot_pk)[0])


def rows_at_choice(snapshot_pk: int) -> QuerySet[ListPrice]:
    """Return the list prices, taken back by now, that its prices may rest on at a choice of its readers."""
    return _taken_back(_numbers(snapshot_pk)[1])


def _taken_back(numbers: Iterable[int]) -> QuerySet[ListPrice]:
    return ListPrice.objects.filter(pk__in=numbers).exclude(taken_back_at=None).order_by("pk")


def taken_back(prices: Iterable[ListPrice]) -> tuple[TakenBack, ...]:
    """Return their numbers and days, in UTC."""
    return tuple(TakenBack(price.pk, price.taken_back_at.date()) for price in prices if price.taken_back_at)


@lru_cache(maxsize=SNAPSHOTS_KEPT)
def _numbers(snapshot_pk: int) -> tuple[frozenset[int], frozenset[int]]:
    """Return the numbers that a snapshot cites, and those that it may cite; it never changes, so it is read once."""
    content = Snapshot.objects.values_list("content", flat=True).get(pk=snapshot_pk)
    document = canonical.from_bytes(bytes(content))
    return citations.list_prices(document), citations.frozen_prices(document)
