"""Standings: who is first, and who is not told apart from whom. Those that are not share a place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from benchhub.analysis.curves import ratio as curve_ratio
from benchhub.analysis.curves.curve import why_withheld
from benchhub.analysis.doubts.verdict import Verdict
from benchhub.analysis.pricing import certainty
from benchhub.analysis.pricing.quote import Quote
from benchhub.analysis.statistics.estimate import NOT_DISTINGUISHABLE, WITHHELD
from benchhub.analysis.words import significant
from benchhub.reports.comparison.answers.fastest import fastest
from benchhub.reports.comparison.entries import Entry
from benchhub.reports.curves import verdicts
from benchhub.reports.prices.cells import Cell, Row
from benchhub.reports.prices.table import Table

Item = TypeVar("Item")
FULL = Decimal(100)


@dataclass(frozen=True, slots=True)
class Standing:
    """A line of the leaderboard.

    `against` says what multiple of the first of all it is, `width_percent` how long its bar is. `cell` is its price,
    None where throughput decides.
    """

    place: int
    entry: Entry
    against: str
    verdict: str
    width_percent: str
    row: Row | None = None
    cell: Cell | None = None

    @property
    def mean(self) -> str:
        level = self.entry.curve.peak.level
        return significant(level.throughput.mean, level.throughput.digits)

    @property
    def ends(self) -> str:
        """Write the interval of the peak, or the range of its repeats; empty for a run alone."""
        spread = self.entry.curve.peak.level.throughput
        if spread.n < 2:
            return ""
        return f"{significant(spread.low, spread.digits)} to {significant(spread.high, spread.digits)}, {spread.kind}"

    @property
    def trust(self) -> Verdict:
        return verdicts.of_curve(self.entry.runs)


def by_throughput(entries: Sequence[Entry]) -> list[Standing]:
    """Rank curves of one unit by their peaks."""
    if not entries:
        return []
    lead = fastest(entries)
    ordered = [lead.entry, *(other.other for other in lead.leads)]
    against = {other.other.key: other.turned for other in lead.leads}
    highest = lead.entry.curve.peak.level.throughput.mean
    places = _places(ordered, lambda first, other: fastest([first, other]).leads[0].verdict)
    return [
        Standing(
            place=place,
            entry=entry,
            against=against[entry.key].times if entry.key in against else "",
            verdict=against[entry.key].verdict if entry.key in against else "",
            width_percent=f"{100 * entry.curve.peak.level.throughput.mean / highest:.2f}",
        )
        for place, entry in zip(places, ordered, strict=True)
    ]


def by_price(entries: Sequence[Entry], prices: Table) -> list[Standing]:
    """Rank each system under each licence by price; nothing is ranked across currencies, nor what costs nothing."""
    by_curve = {id(entry): entry for entry in entries}
    offers = [(by_curve[id(row.system_curve)], row, cell, cell.quote) for row, cell in prices.quoted if cell.quote]
    if not offers or prices.remark or not all(quote.total for *_, quote in offers):
        return []
    offers.sort(key=lambda offer: offer[3].quotient)
    lowest, highest = offers[0], max(offer[3].quotient for offer in offers) or FULL
    places = _places(offers, lambda first, other: _price_ratio(first[0], first[3], other[0], other[3]).verdict)
    standings = []
    for place, offer in zip(places, offers, strict=True):
        entry, row, cell, quote = offer
        ratio = None if offer is lowest else _price_ratio(entry, quote, lowest[0], lowest[3])
        standings.append(
            Standing(
                place=place,
                entry=entry,
                against=_times(ratio) if ratio else "",
                verdict=ratio.verdict if ratio else "",
                width_percent=f"{FULL * quote.quotient / highest:.2f}",
                row=row,
                cell=cell,
            )
        )
    return standings


def _times(price_ratio: certainty.PriceRatio) -> str:
    """Write this price as a multiple of the lowest, with its interval where it has one: 1.49x (1.46 to 1.52)."""
    times = curve_ratio.times(price_ratio.value)
    if not price_ratio.is_tested:
        return times
    return f"{times} ({curve_ratio.between((price_ratio.low, price_ratio.high), ' to ')})"


def _price_ratio(entry: Entry, quote: Quote, other: Entry, other_quote: Quote) -> certainty.PriceRatio:
    ratio = certainty.ratio(quote, other_quote)
    is_withheld = entry is not other and why_withheld(entry.curve, other.curve)
    return certainty.without_bounds(ratio) if is_withheld else ratio


def _places(ordered: Sequence[Item], verdict: Callable[[Item, Item], str]) -> list[int]:
    """Return the place of each; it is that of the first of those before it that it is not told apart from."""
    places: list[int] = []
    first = 0
    for number, item in enumerate(ordered):
        if number and verdict(ordered[first], item) not in (NOT_DISTINGUISHABLE, WITHHELD):
            first = number
        places.append(first + 1)
    return places
