"""The pages of price sheets: a sheet with the steps that led to its total, and the editor of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from benchhub.analysis.pricing.money import PricingError
from benchhub.analysis.pricing.sheets.total import SheetTotal, Subtotal
from benchhub.analysis.pricing.steps import Step
from benchhub.catalog.models import PriceSheet
from benchhub.catalog.shared.revisions import note_revision

from . import csv
from .forms import SheetDraft
from .reported_form import ReportedForm


@dataclass(frozen=True, slots=True)
class CategoryTotal:
    """A subtotal with the steps of its lines."""

    subtotal: Subtotal
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class SheetPage:
    """The page of a price sheet; `reported` is the form of a price per unit of a reported metric."""

    sheet: PriceSheet
    reported: ReportedForm

    @cached_property
    def revisions(self) -> list[PriceSheet]:
        """Return the other revisions, newest first."""
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
        rows = self.total.rows if self.total else ()
        return [
            CategoryTotal(
                subtotal, tuple(step for row in rows if row.line.category == subtotal.category for step in row.steps)
            )
            for subtotal in self._subtotals
        ]

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


@dataclass(frozen=True, slots=True)
class Imported:
    """The outcome of reading a file: a sentence, or the problems that kept it from being read and the pasted text."""

    sentence: str = ""
    problems: Sequence[csv.Problem] = ()
    pasted: str = ""


@dataclass(frozen=True)
class EditorPage:
    """The page on which a draft is edited."""

    draft: SheetDraft
    imported: Imported

    @property
    def title(self) -> str:
        return f"Revise {self.draft.row}" if self.draft.row else "Add a price sheet"

    @property
    def note(self) -> str:
        return note_revision(self.draft.row.revision + 1, []) if self.draft.row else ""

    @property
    def columns(self) -> list[tuple[str, str, str]]:
        return csv.columns_in_words()


def total_of(sheet: PriceSheet) -> SheetTotal | None:
    """Return the total; None for what no form and no fixture would have let in."""
    try:
        return sheet.priced()
    except PricingError:
        return None
