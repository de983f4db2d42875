"""Take the discounts of a price sheet off its rows, one after the other, and share them out by kind."""

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
    """The amounts that a discount takes off each column, and their bases; a surcharge is below 0."""

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


def column_amount(row: Row, column: Column) -> Decimal:
    return row.price if column == "price" else row.maintenance


def column_sum(rows: Sequence[Row], column: Column) -> Decimal:
    return sum((column_amount(row, column) for row in rows), Decimal(0))


def take(sheet: Sheet, discount: Discount, rows: Sequence[Row], earlier: Sequence[Deduction]) -> Deduction:
    """Take a discount off its rows, after the earlier deductions."""
    scope = [row for row in rows if discount.holds_for(row.line)]
    amounts, bases = dict.fromkeys(COLUMNS, Decimal(0)), dict.fromkeys(COLUMNS, Decimal(0))
    steps = []
    for column in COLUMNS:
        if discount.columns in (column, "both"):
            deducted = _already_off(rows, scope, earlier, column) if discount.is_on_rest else Decimal(0)
            bases[column] = column_sum(scope, column) - deducted
            amounts[column] = _amount_off(discount, scope, bases[column], column)
            steps.append(_discount_step(sheet, discount, column, bases[column], amounts[column]))
    return Deduction(
        discount, amounts["price"], amounts["maintenance"], bases["price"], bases["maintenance"], tuple(steps)
    )


def _amount_off(discount: Discount, scope: Sequence[Row], base: Decimal, column: Column) -> Decimal:
    if discount.percent is None:
        return discount.amount or Decimal(0)
    share = discount.percent / HUNDRED
    if discount.rounded_per == "line":
        return sum((_cut(discount, column_amount(row, column) * share) for row in scope), Decimal(0))
    if discount.rounded_per == "unit":
        return sum((_cut(discount, row.unit_price * share) * row.units for row in scope), Decimal(0))
    return _cut(discount, base * share)


def _cut(discount: Discount, amount: Decimal) -> Decimal:
    return amount if discount.rounding == "exact" else rounded(amount, discount.places, discount.rounding)


def _already_off(rows: Sequence[Row], scope: Sequence[Row], earlier: Sequence[Deduction], column: Column) -> Decimal:
    """Return what earlier discounts have taken off these lines; of one with a wider scope, their share."""
    total_off = Decimal(0)
    for deduction in earlier:
        wider_scope = [row for row in rows if deduction.discount.holds_for(row.line)]
        common_rows = [row for row in wider_scope if row in scope]
        total = column_sum(wider_scope, column)
        if total and len(common_rows) < len(wider_scope):
            total_off += rounded_quotient(
                deduction.amount(column) * column_sum(common_rows, column), total, MANY_PLACES
            )
        elif common_rows:
            total_off += deduction.amount(column)
    return total_off


def _discount_step(sheet: Sheet, discount: Discount, column: Column, base: Decimal, amount: Decimal) -> Step:
    rounding_text = {"unit": ", by unit price", "line": ", line by line", "sum": ""}[discount.rounded_per]
    rest_text = " that is left" if discount.is_on_rest else ""
    kind, sign, preposition = ("surcharge", -1, "on") if discount.is_surcharge else ("discount", 1, "off")
    template = "{discount}, {percent}% of {base} {column}{where}{rest} is {result}{how}"
    if discount.percent is None:
        template = "{discount}, {result} " + preposition + " {base} {column}{where}{rest}"
    words = {"discount": discount.description, "column": "maintenance" if column == "maintenance" else "prices"}
    words |= {"where": discount.scope, "rest": rest_text, "how": rounding_text}
    percent = sign * (discount.percent or Decimal(0))
    result = Amount(sign * amount, sheet.currency)
    return step(
        kind, f"{kind.capitalize()}: {template}", result, percent=percent, base=Amount(base, sheet.currency), **words
    )


def shared_out(deduction: Deduction, rows: Sequence[Row]) -> dict[Kind, Fraction]:
    """Return the part of a deduction from prices that falls to each kind, by the prices of the lines in its scope."""
    scope = [row for row in rows if deduction.discount.holds_for(row.line)]
    base = Fraction(column_sum(scope, "price"))
    parts = dict.fromkeys(KINDS, Fraction(0))
    for row in scope:
        parts[row.line.kind] += Fraction(deduction.price) * (Fraction(row.price) / base if base else 0)
    if scope and not base:
        parts[scope[0].line.kind] += Fraction(deduction.price)
    return parts
