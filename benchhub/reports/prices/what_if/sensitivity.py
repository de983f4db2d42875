"""Which of the terms moves a price most."""

from __future__ import annotations

from decimal import Decimal

from benchhub.analysis.pricing import questions
from benchhub.analysis.pricing.money import rounded
from benchhub.analysis.pricing.questions import Effect
from benchhub.analysis.pricing.quote import Quote
from benchhub.analysis.pricing.steps import Step, step
from benchhub.analysis.words import count, plain
from benchhub.reports.curves.panel import Panel, PanelRow, refused
from benchhub.reports.prices import figures
from benchhub.reports.prices.cells import places_of
from benchhub.reports.prices.pictures import why
from benchhub.reports.prices.table import Table

from .subjects import Subject

NAME, TITLE = "sensitivity", "What moves the price most?"
SETTINGS = {
    "term": "Term",
    "discount": "Discount on everything",
    "support": "Support a year",
    "utilisation": "Hours used",
}
EXPLANATION = (
    "Each bar prices the same order again with one setting changed and all else as it is; the line is the present "
    "price, {:,}. Left out is what moves nothing (support without a perpetual licence, hours "
    "without one by the hour) and a term that a price sheet has no price for."
)


def panel(table: Table, subject: Subject) -> Panel | None:
    """Draw the range of the price over each of its terms; None where the subject has no price."""
    if (cell := subject.cell) is None or cell.priced is None or cell.quote is None:
        return None
    quote = cell.quote
    effects = questions.sensitivity(cell.priced.order, quote.throughput, table.costs.quote_terms)
    if not effects:
        return refused(NAME, TITLE, f"Nothing that can be changed moves the price of {subject.name}.")
    unit, labels = f"{quote.currency} per {table.unit}", [_setting(effect) for effect in effects]
    rows = tuple(_row(effect, quote, why(subject.row, subject.model)) for effect in effects)
    lead = (
        f"{labels[0]}, moves the price of {subject.name} most: {rows[0].values[1]:,} to {rows[0].values[2]:,} {unit}."
    )
    columns = ("Setting", f"Price at its low end, {unit}", "at its high end", "Difference")
    ends = [(float(effect.price_at_low), float(effect.price_at_high)) for effect in effects]
    figure = figures.tornado([figures.label(*label.split(", ")) for label in labels], ends, float(quote.quotient), unit)
    return Panel(NAME, TITLE, (lead, EXPLANATION.format(cell.price)), columns, rows, figure)


def _row(effect: Effect, quote: Quote, why: str) -> PanelRow:
    places = places_of(quote.quotient, 3)
    amounts = (rounded(price, places) for price in (effect.price_at_low, effect.price_at_high, effect.size))
    return PanelRow((_setting(effect), *amounts), _ends(effect, quote), why=why)


def _setting(effect: Effect) -> str:
    ends = f"{plain(effect.low)} to {plain(effect.high)}{' years' if effect.name == 'term' else '%'}"
    return f"{SETTINGS[effect.name]}, {ends}"


def _ends(effect: Effect, present: Quote) -> tuple[Step, ...]:
    """Derive the price at each end, as far as it differs from the present one, which is derived above."""
    ends = ((effect.low, effect.at_low), (effect.high, effect.at_high))
    sentences = {present_step.sentence for present_step in present.steps}
    steps: list[Step] = []
    for value, quote in ends:
        steps += [_end(effect, value), *(part for part in quote.steps if part.sentence not in sentences)]
    return tuple(steps)


def _end(effect: Effect, value: Decimal) -> Step:
    template = "{setting}, {result}, and all else as in the present price"
    words = count(int(value), "year") if effect.name == "term" else f"{plain(value)}%"
    return step("setting", template, words, setting=SETTINGS[effect.name])
