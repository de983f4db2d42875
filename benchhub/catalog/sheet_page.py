"""What the page of a price sheet shows: each line, discount and subtotal with the steps that led to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from benchhub.analysis.pricing.sheet_total import Row, SheetTotal, Subtotal, Taken
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
    taken: Taken
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
    lines = tuple(map(ShownLine, range(1, len(total.rows) + 1), total.rows, _by_line(total.steps)))
    of_discounts = iter([step for step in total.steps if step.kind == "discount"])
    discounts = tuple(
        ShownDiscount(taken, tuple(next(of_discounts) for _ in range(2 if taken.discount.columns == "both" else 1)))
        for taken in total.taken
    )
    subtotals = tuple(ShownSubtotal(one, _of_category(lines, one.category)) for one in total.subtotals)
    price = sum((one.price for one in total.subtotals), Decimal(0))
    maintenance = sum((one.maintenance for one in total.subtotals), Decimal(0))
    return Shown(total, lines, subtotals, discounts, (price, maintenance), any(row.maintenance for row in total.rows))


def _by_line(steps: Sequence[Step]) -> list[Steps]:
    """A line begins with its own step (or the conversion before it); what follows is its maintenance."""
    found: list[list[Step]] = []
    for step in steps:
        if step.kind in ("discount", "sheet"):
            break
        if step.kind == "line":
            found.append([])
        found[-1].append(step)
    return [tuple(one) for one in found]


def _of_category(lines: Sequence[ShownLine], category: str) -> Steps:
    return tuple(step for line in lines if line.row.line.category == category for step in line.steps)
