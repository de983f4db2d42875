"""What the page of a price sheet shows: each line, discount and subtotal with the steps that led to it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from benchhub.analysis.pricing.money import PricingError
from benchhub.analysis.pricing.sheets.total import SheetTotal, Subtotal
from benchhub.analysis.pricing.steps import Step
from benchhub.catalog.models import PriceSheet

from .reported_form import ReportedForm


@dataclass(frozen=True, slots=True)
class CategoryTotal:
    """A subtotal with the steps of its lines."""

    subtotal: Subtotal
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class SheetPage:
    """What the page of a price sheet shows; `reported` is the form of a price per unit of a reported metric."""

    sheet: PriceSheet
    reported: ReportedForm

    @cached_property
    def revisions(self) -> list[PriceSheet]:
        """The other revisions, newest first."""
        others = PriceSheet.objects.filter(name=self.sheet.name).exclude(pk=self.sheet.pk)
        return list(others.order_by("-revision"))

    @cached_property
    def total(self) -> SheetTotal | None:
        return total_of(self.sheet)

    @cached_property
    def per_metric(self) -> tuple[Decimal, Step] | None:
        return self.reported.price(self.total) if self.total else None

    @cached_property
    def categories(self) -> list[CategoryTotal]:
        return [CategoryTotal(subtotal, self._steps(subtotal.category)) for subtotal in self._subtotals]

    @property
    def price_before_discounts(self) -> Decimal:
        return sum((subtotal.price for subtotal in self._subtotals), Decimal(0))

    @property
    def maintenance_before_discounts(self) -> Decimal:
        return sum((subtotal.maintenance for subtotal in self._subtotals), Decimal(0))

    @cached_property
    def has_maintenance(self) -> bool:
        return self.total is not None and any(row.maintenance for row in self.total.rows)

    @property
    def _subtotals(self) -> tuple[Subtotal, ...]:
        return self.total.subtotals if self.total else ()

    def _steps(self, category: str) -> tuple[Step, ...]:
        rows = self.total.rows if self.total else ()
        return tuple(step for row in rows if row.line.category == category for step in row.steps)


def total_of(sheet: PriceSheet) -> SheetTotal | None:
    """Return the total; None for what no form and no fixture would have let in."""
    try:
        return sheet.priced()
    except PricingError:
        return None
