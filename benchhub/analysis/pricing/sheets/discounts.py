"""What the discounts of a price sheet take off its rows, one after the other, and what part of each falls where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from benchhub.analysis.pricing.money import HUNDRED, Amount, rounded, rounded_quotient
from benchhub.analysis.pricing.steps import Step, step

from .lines import MANY_PLACES, Row
from .sheet import KINDS, Discount, Kind, Sheet

Column = Literal["price", "maintenance"]
COLUMNS: tuple[Column, ...] = ("price", "maintenance")


@dataclass(frozen=True, slots=True)
class Deduction:
    """What a discount takes off each column, and the sums that it was on; what a surcharge adds is below 0."""

    discount: Discount
    price: Decimal
    maintenance: Decimal
    price_base: Decimal
    maintenance_base: Decimal
    steps: tuple[Step, ...]

    def amount(self, column: Column) -> Decimal:
        return self.price if column == "price" else self.maintenance

    @property
    def percent_off(self) -> Decimal:
        base = self.price_base + self.maintenance_base
        return HUNDRED * (self.price + self.maintenance) / base if base > 0 else Decimal(0)


def of_column(row: Row, column: Column) -> Decimal:
    return row.price if column == "price" else row.maintenance


def sum_of(rows: Sequence[Row], column: Column) -> Decimal:
    return sum((of_column(row, column) for row in rows), Decimal(0))


def take(sheet: Sheet, discount: Discount, rows: Sequence[Row], before: Sequence[Deduction]) -> Deduction:
    """`before` are the discounts that were taken already."""
    held = [row for row in rows if discount.holds_for(row.line)]
    amounts, bases = dict.fromkeys(COLUMNS, Decimal(0)), dict.fromkeys(COLUMNS, Decimal(0))
    steps = []
    for column in COLUMNS:
        if discount.columns in (column, "both"):
            off = _already_off(rows, held, before, column) if discount.is_on_rest else Decimal(0)
            bases[column] = sum_of(held, column) - off
            amounts[column] = _off(discount, held, bases[column], column)
            steps.append(_discount_step(sheet, discount, column, bases[column], amounts[column]))
    return Deduction(
        discount, amounts["price"], amounts["maintenance"], bases["price"], bases["maintenance"], tuple(steps)
    )


def _off(discount: Discount, held: Sequence[Row], base: Decimal, column: Column) -> Decimal:
    if discount.percent is None:
        return discount.amount or Decimal(0)
    share = discount.percent / HUNDRED
    if discount.rounded_per == "line":
        return sum((_cut(discount, of_column(row, column) * share) for row in held), Decimal(0))
    if discount.rounded_per == "unit":
        return sum((_cut(discount, row.unit_price * share) * row.units for row in held), Decimal(0))
    return _cut(discount, base * share)


def _cut(discount: Discount, amount: Decimal) -> Decimal:
    return amount if discount.rounding == "exact" else rounded(amount, discount.places, discount.rounding)


def _already_off(rows: Sequence[Row], held: Sequence[Row], before: Sequence[Deduction], column: Column) -> Decimal:
    """What earlier discounts have taken off these lines; of one that was on others too, their share of it."""
    off = Decimal(0)
    for discount in before:
        scope = [row for row in rows if discount.discount.holds_for(row.line)]
        common = [row for row in scope if row in held]
        total = sum_of(scope, column)
        if total and len(common) < len(scope):
            off += rounded_quotient(discount.amount(column) * sum_of(common, column), total, MANY_PLACES)
        elif common:
            off += discount.amount(column)
    return off


def _discount_step(sheet: Sheet, discount: Discount, column: Column, base: Decimal, amount: Decimal) -> Step:
    how = {"unit": ", by unit price", "line": ", line by line", "sum": ""}[discount.rounded_per]
    rest = " that is left" if discount.is_on_rest else ""
    kind, sign, to = ("surcharge", -1, "on") if discount.is_surcharge else ("discount", 1, "off")
    template = "{discount}, {percent}% of {base} {column}{where}{rest} is {result}{how}"
    if discount.percent is None:
        template = "{discount}, {result} " + to + " {base} {column}{where}{rest}"
    words = {"discount": discount.description, "column": "maintenance" if column == "maintenance" else "prices"}
    words |= {"where": discount.scope, "rest": rest, "how": how}
    percent = sign * (discount.percent or Decimal(0))
    result = Amount(sign * amount, sheet.currency)
    return step(
        kind, f"{kind.capitalize()}: {template}", result, percent=percent, base=Amount(base, sheet.currency), **words
    )


def shared_out(discount: Deduction, rows: Sequence[Row]) -> dict[Kind, Fraction]:
    """The part of a discount on prices that falls to each kind, by the prices of the lines that it is on."""
    held = [row for row in rows if discount.discount.holds_for(row.line)]
    base = Fraction(sum_of(held, "price"))
    parts = dict.fromkeys(KINDS, Fraction(0))
    for row in held:
        parts[row.line.kind] += Fraction(discount.price) * (Fraction(row.price) / base if base else 0)
    if held and not base:
        parts[held[0].line.kind] += Fraction(discount.price)
    return parts
