"""Which choices, a system under a licence each, no other beats in cost and throughput."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from benchhub.analysis.pricing import questions
from benchhub.analysis.pricing.money import rounded
from benchhub.analysis.pricing.quote import Quote
from benchhub.analysis.words import word
from benchhub.reports.curves.panel import Panel, PanelRow, refused, unlike
from benchhub.reports.prices import figures
from benchhub.reports.prices.cells import Cell, Row
from benchhub.reports.prices.figures import Spot
from benchhub.reports.prices.pictures import why
from benchhub.reports.prices.table import Table

from .subjects import Subject

NAME, TITLE = "pareto", "Which choices does no other beat?"
EXPLANATION = (
    "Filled marks are on the frontier. It goes by the geometric means alone: where repeats overlap, a neighbour "
    "may be as good."
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A system under a licence with its price, and whether it is on the frontier."""

    row: Row
    cell: Cell
    quote: Quote
    is_on_frontier: bool

    @property
    def label(self) -> str:
        return f"{self.row.system_curve.system.label} under {self.cell.licence}"

    @property
    def spot(self) -> Spot:
        amounts = float(self.quote.total), float(self.quote.throughput.value)
        return Spot(self.cell.licence, self.row.system_curve.series, *amounts, self.is_on_frontier)

    @property
    def panel_row(self) -> PanelRow:
        assert self.row.at is not None
        throughput = Decimal(f"{self.quote.throughput.value:.{self.row.at.level.throughput.digits}g}")
        amounts = rounded(self.quote.total), Decimal(f"{throughput:f}")
        values = (self.row.system_curve.system.label, self.cell.licence, *amounts, "yes" if self.is_on_frontier else "")
        return PanelRow(values, why=why(self.row, self.cell.model), is_marked=self.is_on_frontier)


def panel(table: Table, _subject: Subject) -> Panel:
    """Draw every choice by cost and throughput, those first that no other beats."""
    quotes = [cell.quote for _, cell in table.quoted if cell.quote]
    if sentence := unlike([quote.currency for quote in quotes]):
        return refused(NAME, TITLE, sentence)
    if len(quotes) < 2:
        return refused(NAME, TITLE, "One choice alone has no other to be held against.")
    places = questions.pareto(quotes)
    choices = _choices(table, places)
    rows = sorted(choices, key=lambda choice: (not choice.is_on_frontier, choice.quote.total))
    currency, labels = (
        quotes[0].currency,
        [(row.system_curve.series, row.system_curve.system.label) for row in table.rows],
    )
    figure = figures.frontier([choice.spot for choice in choices], labels, currency, table.unit)
    columns = ("System", "Licence", f"Total, {currency}", f"Throughput, {table.unit}", "On the frontier")
    captions = (_lead([choices[place].label for place in places], len(choices)), EXPLANATION)
    return Panel(NAME, TITLE, captions, columns, tuple(choice.panel_row for choice in rows), figure)


def _choices(table: Table, frontier: Sequence[int]) -> list[Choice]:
    quoted = [(row, cell, cell.quote) for row, cell in table.quoted if cell.quote]
    return [Choice(*priced, place in frontier) for place, priced in enumerate(quoted)]


def _lead(names: Sequence[str], number: int) -> str:
    frontier_text = f"{len(names)} of {number} choices {word('is', len(names), 'are')} on the frontier"
    return f"{frontier_text}: no other costs as little and gives as much. By rising cost: {'; '.join(names)}."
