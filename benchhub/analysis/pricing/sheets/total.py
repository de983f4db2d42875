"""What a price sheet comes to: extended lines, discounts, subtotals by category and kind, flags, and every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction

from benchhub.analysis.pricing.licences.cost import suspicion
from benchhub.analysis.pricing.money import HUNDRED, Amount, exactly, rounded, rounded_quotient
from benchhub.analysis.pricing.steps import Step, step

from .discounts import COLUMNS, Column, Deduction, shared_out, sum_of, take
from .lines import Row, extended
from .sheet import KINDS, Kind, Sheet

__all__ = ["Deduction", "Row", "SheetTotal", "Subtotal", "total"]


@dataclass(frozen=True, slots=True)
class Subtotal:
    """Extended amounts of one category, before discounts."""

    category: str
    price: Decimal
    maintenance: Decimal


@dataclass(frozen=True, slots=True)
class SheetTotal:
    """`total` is what the sheet comes to; `rounding` is what rounding columns or the total has added (or taken)."""

    sheet: Sheet
    rows: tuple[Row, ...]
    deductions: tuple[Deduction, ...]
    price: Decimal
    maintenance: Decimal
    total: Decimal
    steps: tuple[Step, ...]

    @property
    @exactly
    def listed(self) -> Decimal:
        return sum((row.listed + row.listed_maintenance for row in self.rows), Decimal(0))

    @property
    @exactly
    def discounts(self) -> Decimal:
        return sum((deduction.price + deduction.maintenance for deduction in self.deductions), Decimal(0))

    @property
    @exactly
    def rounding(self) -> Decimal:
        return self.total - sum((row.price + row.maintenance for row in self.rows), Decimal(0)) + self.discounts

    @property
    @exactly
    def subtotals(self) -> tuple[Subtotal, ...]:
        """By category, in the order they first appear; with discounts and rounding they add up to the total."""
        categories = dict.fromkeys(row.line.category for row in self.rows)
        return tuple(self._subtotal(category) for category in categories)

    def _subtotal(self, category: str) -> Subtotal:
        rows = [row for row in self.rows if row.line.category == category]
        price, maintenance = sum_of(rows, "price"), sum_of(rows, "maintenance")
        return Subtotal(category, price, maintenance)

    @property
    @exactly
    def listed_by_kind(self) -> dict[Kind, Decimal]:
        """At list price, before contracts and discounts; maintenance is support."""
        listed = dict.fromkeys(KINDS, Decimal(0))
        for row in self.rows:
            listed[row.line.kind] += row.listed
            listed["support"] += row.listed_maintenance
        return listed

    @property
    @exactly
    def by_kind(self) -> dict[Kind, Decimal]:
        """After discounts, which are shared out by what they were on; adds up to the total. Maintenance is support."""
        shares = dict.fromkeys(KINDS, Fraction(0))
        for row in self.rows:
            shares[row.line.kind] += Fraction(row.price)
            shares["support"] += Fraction(row.maintenance)
        for deduction in self.deductions:
            shares["support"] -= Fraction(deduction.maintenance)
            for kind, part in shared_out(deduction, self.rows).items():
                shares[kind] -= part
        return _adding_up({kind: share for kind, share in shares.items() if share}, self.total)

    @property
    def available_on(self) -> date | None:
        """When the last line is to be had; None where no line says."""
        return max((row.line.available_on for row in self.rows if row.line.available_on), default=None)

    @property
    def flags(self) -> tuple[str, ...]:
        """Discounts that the TPC's rules call suspicious."""
        offs = [(f"'{deduction.discount.description}'", deduction.percent_off) for deduction in self.deductions]
        offs += [(f"'{row.line.description}'", _percent_off(row)) for row in self.rows]
        flags = [suspicion(title, off, self.sheet.is_large_quantity) for title, off in offs]
        return tuple(flag for flag in flags if flag)


@exactly
def total(sheet: Sheet, term_months: int | None = None) -> SheetTotal:
    """Add up a sheet over its own term or another. Raises PricingError, or UnlikeCurrenciesError without a rate."""
    months = sheet.term_months if term_months is None else term_months
    rows = tuple(extended(sheet, line, months) for line in sheet.lines)
    deductions: list[Deduction] = []
    for discount in sheet.discounts:
        deductions.append(take(sheet, discount, rows, deductions))
    price, maintenance = (_net(sheet, rows, deductions, column) for column in COLUMNS)
    grand = rounded(price + maintenance, _total_places(sheet), sheet.rounding)
    steps = [step for row in rows for step in row.steps] + [
        step for deduction in deductions for step in deduction.steps
    ]
    steps.append(_total_step(sheet, price, maintenance, grand))
    return SheetTotal(sheet, rows, tuple(deductions), price, maintenance, grand, tuple(steps))


def _percent_off(row: Row) -> Decimal:
    """Of the line's price, whichever column it stands in."""
    listed, paid = (row.listed, row.price) if row.listed else (row.listed_maintenance, row.maintenance)
    return HUNDRED * (listed - paid) / listed if listed > 0 else Decimal(0)


def _total_places(sheet: Sheet) -> int:
    return sheet.places if sheet.total_places is None else sheet.total_places


def _net(sheet: Sheet, rows: Sequence[Row], deductions: Sequence[Deduction], column: Column) -> Decimal:
    net = sum_of(rows, column) - sum((deduction.amount(column) for deduction in deductions), Decimal(0))
    return rounded(net, sheet.places, sheet.rounding) if sheet.rounded_per == "column" else net


def _total_step(sheet: Sheet, price: Decimal, maintenance: Decimal, grand: Decimal) -> Step:
    template = "Sheet: {sheet} comes to {result}"
    if maintenance:
        template = "Sheet: {sheet} comes to {price} + {maintenance} for maintenance = {result}"
    operands = {"price": Amount(price, sheet.currency), "maintenance": Amount(maintenance, sheet.currency)}
    if grand != price + maintenance:
        template += ", rounded"
    return step("sheet", template, Amount(grand, sheet.currency), sheet=sheet.name, **operands)


def _adding_up(shares: dict[Kind, Fraction], total: Decimal) -> dict[Kind, Decimal]:
    """Each share to the cent; what rounding leaves goes to the largest."""
    cents = {kind: rounded_quotient(share.numerator, share.denominator) for kind, share in shares.items()}
    if cents:
        largest = max(cents, key=lambda kind: abs(cents[kind]))
        cents[largest] += total - sum(cents.values(), Decimal(0))
    return cents
