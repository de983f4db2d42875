"""What the page of a price sheet shows: each line, discount and subtotal with the steps that led to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from benchhub.analysis.pricing.sheets.total import Row, SheetTotal, Subtotal, Taken
from benchhub.analysis.pricing.steps import Step

Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class ShownLine:
    number: int
    row: Row
    steps: Steps


@dataclass(frozen=True, slots=True)
class ShownSubtotal:
    subtotal: Subtotal
    steps: Steps


@dataclass(frozen=True, slots=True)
class ShownDiscount:
    deduction: Taken
    steps: Steps


@dataclass(frozen=True, slots=True)
class Shown:
    """`before` are both columns before discounts."""

    total: SheetTotal
    lines: tuple[ShownLine, ...]
    subtotals: tuple[ShownSubtotal, ...]
    discounts: tuple[ShownDiscount, ...]
    before: tuple[Decimal, Decimal]
    has_maintenance: bool


def shown(total: SheetTotal) -> Shown:
    lines = tuple(ShownLine(number, row, row.steps) for number, row in enumerate(total.rows, start=1))
    discounts = tuple(ShownDiscount(deduction, deduction.steps) for deduction in total.taken)
    subtotals = tuple(ShownSubtotal(subtotal, _of_category(lines, subtotal.category)) for subtotal in total.subtotals)
    price = sum((subtotal.price for subtotal in total.subtotals), Decimal(0))
    maintenance = sum((subtotal.maintenance for subtotal in total.subtotals), Decimal(0))
    return Shown(total, lines, subtotals, discounts, (price, maintenance), any(row.maintenance for row in total.rows))


def _of_category(lines: Sequence[ShownLine], category: str) -> Steps:
    return tuple(step for line in lines if line.row.line.category == category for step in line.steps)
