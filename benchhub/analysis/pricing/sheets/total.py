"""Add up a price sheet: extended lines, discounts, subtotals by category and kind, flags, and every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction

from benchhub.analysis.pricing.licences.cost import suspicion
from benchhub.analysis.pricing.money import HUNDRED, Amount, exactly, rounded, rounded_quotient
from benchhub.analysis.pricing.steps import Step, step

from .discounts import COLUMNS, Column, Deduction, column_sum, shared_out, take
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
    """The total of a sheet; `rounding` is what rounding columns or the total has added (or taken)."""

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
        """Return subtotals by category, in their order; with discounts and rounding they add up to the total."""
        rows_by_category: dict[str, list[Row]] = {}
        for row in self.rows:
            rows_by_category.setdefault(row.line.category, []).append(row)
        return tuple(
            Subtotal(category, column_sum(rows, "price"), column_sum(rows, "maintenance"))
            for category, rows in rows_by_category.items()
        )

    @property
    @exactly
    def listed_by_kind(self) -> dict[Kind, Decimal]:
        """Return the list price by kind, before contracts and discounts; maintenance is support."""
        listed = dict.fromkeys(KINDS, Decimal(0))
        for row in self.rows:
            listed[row.line.kind] += row.listed
            listed["support"] += row.listed_maintenance
        return listed

    @property
    @exactly
    def by_kind(self) -> dict[Kind, Decimal]:
        """Return the price by kind after discounts, each shared out over its lines; maintenance is support.

        The kinds add up to the total.
        """
        shares = dict.fromkeys(KINDS, Fraction(0))
        for row in self.rows:
            shares[row.line.kind] += Fraction(row.price)
            shares["support"] += Fraction(row.maintenance)
        for deduction in self.deductions:
            shares["support"] -= Fraction(deduction.maintenance)
            for kind, part in shared_out(deduction, self.rows).items():
                shares[kind] -= part
        return _rounded_shares({kind: share for kind, share in shares.items() if share}, self.total)

    @property
    def available_on(self) -> date | None:
        """Return the day on which the last line is available; None if no line names one."""
        return max((row.line.available_on for row in self.rows if row.line.available_on), default=None)

    @property
    def flags(self) -> tuple[str, ...]:
        """Return a sentence for each discount that the TPC's rules call suspicious."""
        percents = [(f"'{deduction.discount.description}'", deduction.percent_off) for deduction in self.deductions]
        percents += [(f"'{row.line.description}'", _percent_off(row)) for row in self.rows]
        flags = [suspicion(title, percent_off, self.sheet.is_large_quantity) for title, percent_off in percents]
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
    places = sheet.places if sheet.total_places is None else sheet.total_places
    grand_total = rounded(price + maintenance, places, sheet.rounding)
    steps = [step for row in rows for step in row.steps] + [
        step for deduction in deductions for step in deduction.steps
    ]
    steps.append(_total_step(sheet, price, maintenance, grand_total))
    return SheetTotal(sheet, rows, tuple(deductions), price, maintenance, grand_total, tuple(steps))


def _percent_off(row: Row) -> Decimal:
    """Return the per cent off the line's price, whichever column it stands in."""
    listed, paid = (row.listed, row.price) if row.listed else (row.listed_maintenance, row.maintenance)
    return HUNDRED * (listed - paid) / listed if listed > 0 else Decimal(0)


def _net(sheet: Sheet, rows: Sequence[Row], deductions: Sequence[Deduction], column: Column) -> Decimal:
    net = column_sum(rows, column) - sum((deduction.amount(column) for deduction in deductions), Decimal(0))
    return rounded(net, sheet.places, sheet.rounding) if sheet.rounded_per == "column" else net


def _total_step(sheet: Sheet, price: Decimal, maintenance: Decimal, grand_total: Decimal) -> Step:
    template = "Sheet: {sheet} comes to {result}"
    if maintenance:
        template = "Sheet: {sheet} comes to {price} + {maintenance} for maintenance = {result}"
    operands = {"price": Amount(price, sheet.currency), "maintenance": Amount(maintenance, sheet.currency)}
    if grand_total != price + maintenance:
        template += ", rounded"
    return step("sheet", template, Amount(grand_total, sheet.currency), sheet=sheet.name, **operands)


def _rounded_shares(shares: dict[Kind, Fraction], total: Decimal) -> dict[Kind, Decimal]:
    """Round each share to the cent; what rounding leaves goes to the largest."""
    cents = {kind: rounded_quotient(share.numerator, share.denominator) for kind, share in shares.items()}
    if cents:
        largest = max(cents, key=lambda kind: abs(cents[kind]))
        cents[largest] += total - sum(cents.values(), Decimal(0))
    return cents
