"""Who sells the machines of a comparison, and as what: names that its price sheets give, and that texts may repeat."""

from __future__ import annotations

from collections.abc import Iterator

from benchhub.analysis.snapshot.redaction import is_ordinary
from benchhub.catalog.models import PriceSheet
from benchhub.reports.prices.table import Table

# A part number that is shorter may be any number.
SHORTEST_PART = 5


def price_texts(prices: Table) -> Iterator[list[str]]:
    """Yield the names of each list price, sheet and line by which readers would find its seller."""
    for row in prices.price_book.rows:
        yield [row.description, row.source, row.part_number]
    for sheet in _sheets(prices):
        yield [sheet.name, sheet.source]
        for line in sheet.lines.all():
            texts = [_seller(line.seller), _phrase(line.description)]
            yield [*texts, line.part_number if len(line.part_number) >= SHORTEST_PART else ""]


def discount_texts(prices: Table) -> Iterator[list[str]]:
    """Yield what the discounts of the sheets are called, and who gives them."""
    for sheet in _sheets(prices):
        for discount in sheet.discounts.all():
            yield [_phrase(discount.description)]


def _sheets(prices: Table) -> Iterator[PriceSheet]:
    for sheets in (prices.price_book.sheets or {}).values():
        yield from sheets


def _seller(text: str) -> str:
    return "" if is_ordinary(text) else text


def _phrase(text: str) -> str:
    """Return a description of several words; one alone, such as Support, stands in texts that tell nothing."""
    return text if len(text.split()) > 1 else ""
