"""What costs least: by the total of the term, which is exact, and per unit of throughput, as sure as that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from benchhub.analysis.pricing.certainty import PriceRatio
from benchhub.analysis.pricing.money import rounded
from benchhub.analysis.statistics.drift import NOT_IN_TURNS_BRIEF
from benchhub.analysis.statistics.estimate import NOT_DISTINGUISHABLE, NOT_TESTED
from benchhub.analysis.statistics.leader import NO_CLEAR_WINNER
from benchhub.analysis.words import count, listing, plain, significant
from benchhub.reports.prices.cells import Cell, Row
from benchhub.reports.prices.table import Lowest, Table, label_of

HUNDRED = Decimal(100)
MOST_SYSTEMS = 2  # as many are named in a sentence
SAME = "All of them cost the same over the term: throughput alone tells their prices apart."


@dataclass(frozen=True, slots=True)
class Offer:
    """A system under a licence, with the total of the term and the price per unit of throughput."""

    row: Row
    cell: Cell
    total: Decimal
    currency: str
    quotient: Decimal

    @property
    def system(self) -> str:
        return self.row.system_curve.system.label

    @property
    def licence(self) -> str:
        return self.cell.licence

    @property
    def money(self) -> str:
        return f"{amount(self.total)} {self.currency}"

    @property
    def price(self) -> str:
        """Write the price per unit as the table of prices does: 0.41 EUR."""
        assert self.cell.amounts is not None
        return f"{self.cell.amounts.price:,} {self.currency}"


@dataclass(frozen=True)
class Cheapest:
    """The offers of a table of prices in one currency, cheapest total first, and `best`, the lowest price per unit."""

    table: Table
    offers: tuple[Offer, ...]

    @cached_property
    def lowest(self) -> Lowest | None:
        """Return the lowest price per unit with its verdict; None where a price is missing or nothing compares."""
        return self.table.lowest

    @cached_property
    def best(self) -> Offer:
        return min(self.offers, key=lambda offer: offer.quotient)

    @property
    def has_least_total(self) -> bool:
        return self.best.total == self.offers[0].total

    @cached_property
    def _against(self) -> dict[str, PriceRatio]:
        return dict(self.lowest.verdict.against) if self.lowest else {}

    @cached_property
    def alike(self) -> list[Offer]:
        """Return `best`, and all at the same total under the same licence that are not told apart from it."""
        return [offer for offer in self.offers if offer is self.best or self._is_alike(offer)]

    def _is_alike(self, offer: Offer) -> bool:
        price_ratio = self._against.get(label_of(offer.row, offer.cell))
        is_told_apart = price_ratio is not None and price_ratio.is_distinguishable
        return (offer.total, offer.licence) == (self.best.total, self.best.licence) and not is_told_apart

    @property
    def verdict(self) -> str:
        """Write the verdict as a title: 'Cheapest: PostgresPURE, 15,000 EUR over 3 years'."""
        term = f"over {count(self.table.terms.years, 'year')}"
        if len(self.offers) == 1:
            return f"{self.name(self.offers)}: {self.best.money} {term}"
        if self.has_least_total:
            return f"Cheapest{self._limit}: {self.name(self.alike)}, {self.best.money} {term}"
        if self.lowest and self.lowest.verdict.is_lowest:
            return f"Lowest price per {self.table.price_unit}: {self.name([self.best])}, {self.best.price}"
        return f"No clear winner in price per {self.table.price_unit}"

    @property
    def _limit(self) -> str:
        return " of those with a price" if self.missing else ""

    @property
    def sentences(self) -> list[str]:
        """Say what is saved, where a sum and a price per unit name two winners, and how sure the price is."""
        if len(self.offers) == 1:
            return self._missing_sentence
        money = self._savings if self.has_least_total else self._two_winners
        return [*money, *self._doubt_of_price, *self._missing_sentence]

    @property
    def _savings(self) -> list[str]:
        """Say what is saved against the next total and against the next licence, and what costs as much."""
        dearer = [offer for offer in self.offers if offer.total > self.best.total]
        if not dearer:
            return [SAME]
        next_licence = [offer for offer in dearer if offer.licence != self.best.licence]
        has_next_licence = dearer[0] not in next_licence and bool(next_licence)
        licence_text = [self._saving(next_licence, "the next licence, ")] if has_next_licence else []
        return [self._saving(dearer), *licence_text, *self._same_total]

    def _saving(self, dearer: Sequence[Offer], title: str = "") -> str:
        """Write what is saved against the first of the dearer offers: 9,000 EUR (38%) less than Postgres Plus."""
        least = dearer[0]
        others = [offer for offer in dearer if (offer.total, offer.licence) == (least.total, least.licence)]
        difference = least.total - self.best.total
        percent = share(difference, least.total)
        return f"{amount(difference)} {least.currency} ({percent}) less than {title}{self.name(others)}."

    @property
    def _same_total(self) -> list[str]:
        """Say how many have the same total and a higher price per unit, so that equal sums are no contradiction."""
        others = [offer for offer in self.offers if offer.total == self.best.total and offer not in self.alike]
        if not others:
            return []
        subject = f"{self.name(others)} costs" if len(others) == 1 else f"{len(others)} others cost"
        return [f"{subject} as much over the term, and more per {self.table.price_unit}."]

    @property
    def _two_winners(self) -> list[str]:
        least, unit = self.offers[0], self.table.price_unit
        return [
            f"{self.name([self.best])} costs {self.best.money}, {self.best.price} per {unit}.",
            f"The smallest sum is that of {self.name([least])}: {least.money}, {least.price} per {unit}.",
        ]

    @property
    def _doubt_of_price(self) -> list[str]:
        if self.lowest is None or self.lowest.verdict.is_lowest:
            return []
        return [f"Price per {self.table.price_unit}: {self.best.price} is the lowest as measured; {self._why_unsure}."]

    @property
    def _why_unsure(self) -> str:
        """Say why the lowest price per unit is no winner; the table below names each of the others."""
        assert self.lowest is not None
        leader = self.lowest.verdict.leader
        if leader.verdict == NO_CLEAR_WINNER:
            first, *rest = leader.candidates
            others = f" and {count(len(rest), 'other')}" if rest else ""
            return f"{NOT_DISTINGUISHABLE} from that of {first}{others}"
        if leader.verdict == NOT_TESTED:
            return f"{NOT_TESTED}, as that takes 3 repeats"
        return f"no verdict: {NOT_IN_TURNS_BRIEF}"

    @cached_property
    def missing(self) -> int:
        """Count the systems and licences that should have a price and have none."""
        refused = sum(len(self.table.licence_models) for row in self.table.rows if row.refusal)
        cells = [cell for row in self.table.rows for cell in row.cells]
        return refused + sum(cell.refusal is not None and not cell.refusal.is_not_eligible for cell in cells)

    @property
    def _missing_sentence(self) -> list[str]:
        if not self.missing:
            return []
        total = self.missing + len(self.offers)
        return [
            f"{self.missing} of {total} have no price, so that another may be cheaper: the table of prices says why."
        ]

    def name(self, offers: Sequence[Offer]) -> str:
        """Name offers of one licence by what tells them apart on this page: licence, system or both."""
        licence = offers[0].licence
        systems = _systems_text(dict.fromkeys(offer.system for offer in offers))
        has_licences = len({offer.licence for offer in self.offers}) > 1
        all_systems = {offer.system for offer in self.offers if offer.licence == licence}
        if has_licences and all_systems == {offer.system for offer in offers}:
            return licence
        return f"{licence} on {systems}" if has_licences else systems

    @property
    def next_price(self) -> str:
        """Write the second lowest price per unit and whose it is; empty where there is none."""
        others = sorted((offer for offer in self.offers if offer is not self.best), key=lambda offer: offer.quotient)
        return f"next lowest: {others[0].price}, {self.name(others[:1])}" if others else ""

    @property
    def next_total(self) -> str:
        """Write the lowest other total and whose it is; empty where there is none."""
        others = [offer for offer in self.offers if offer is not self.best]
        if not others:
            return ""
        money = "the same" if others[0].total == self.best.total else f"next lowest: {others[0].money}"
        return f"{money}, {self.name(others[:1])}"

    @property
    def throughput_beside(self) -> str:
        """Write the highest throughput of another system at the load of the terms; empty where there is none."""
        systems = {id(offer.row): offer.row for offer in self.offers if offer.row is not self.best.row}
        sides = [(row.at.level.throughput, row) for row in systems.values() if row.at]
        if not sides:
            return ""
        spread, row = max(sides, key=lambda side: side[0].mean)
        return f"{row.system_curve.system.label}: {significant(spread.mean, spread.digits)}"


def cheapest(table: Table) -> Cheapest | None:
    """Return what costs least; None without any price, or where currencies are unlike."""
    if not table.quoted or table.remark:
        return None
    offers = [
        Offer(row, cell, rounded(cell.quote.total), cell.quote.currency, cell.quote.quotient)
        for row, cell in table.quoted
        if cell.quote
    ]
    return Cheapest(table, tuple(sorted(offers, key=lambda offer: (offer.total, offer.quotient))))


def _systems_text(systems: Iterable[str]) -> str:
    """Name a few systems, or the first of many with how many others there are."""
    first, *others = systems
    if len(others) < MOST_SYSTEMS:
        return listing([first, *others], "or")
    return f"{first} or {count(len(others), 'other')}"


def amount(value: Decimal) -> str:
    """Write money to the cent, whole amounts without cents: 15,000 or 15,000.50."""
    return plain(value) if value == value.to_integral_value() else f"{value:,.2f}"


def share(part: Decimal, whole: Decimal) -> str:
    """Write a share in per cent: 38%, or under 1%."""
    percent = HUNDRED * part / whole
    return f"{percent:.0f}%" if percent >= 1 else "under 1%"
