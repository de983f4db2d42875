"""The tables behind the chart, as the page shows them and as CSV has them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from benchhub.analysis.pricing.certainty import SAME_RUNS
from benchhub.analysis.pricing.laboratory.axis import SPOKEN_DIGITS
from benchhub.analysis.pricing.laboratory.choices import Choice
from benchhub.analysis.pricing.laboratory.flips import TESTED, Flip
from benchhub.analysis.pricing.laboratory.words import zone_ends
from benchhub.analysis.pricing.money import rounded, rounded_quotient, trimmed
from benchhub.analysis.words import round_significant
from benchhub.reports.curves.panel import Panel, PanelRow, Value
from benchhub.reports.prices.cells import Cell, places_of

from .setup import Setup, Subject

FLIPS, LINES, HANDLES = "flips", "lines", "handles"
TABLES = (FLIPS, LINES, HANDLES)
DIGITS, PLACES = 5, 6
PRICE_DIGITS = 3  # as prices have them elsewhere on the page
HOW_SURE = {SAME_RUNS: "exact: the same runs on both sides", TESTED: "95% interval of the ratio"}


def panel(setup: Setup, name: str) -> Panel:
    """Return a table by its name, one of TABLES."""
    return {FLIPS: flip_panel, LINES: line_panel, HANDLES: handle_panel}[name](setup)


def flip_panel(setup: Setup) -> Panel:
    value = f"{setup.handle.title}, {setup.handle.unit_words}"
    columns = (
        value, "Cheaper before", "Cheaper from there on", f"Price there, {setup.unit}", "Unsure from", "Unsure to",
        "How sure",
    )  # fmt: skip
    rows = tuple(_flip(setup, flip) for group, _ in setup.groups for flip in group)
    return Panel(FLIPS, "Break-even points", (), columns, rows)


def spoken_flip_panel(setup: Setup) -> Panel:
    """Return the flips with no more digits than the sentences beside them; a file has all."""
    panel = flip_panel(setup)
    price_place = panel.columns.index(f"Price there, {setup.unit}")
    return replace(panel, rows=tuple(replace(row, values=_spoken(row, price_place)) for row in panel.rows))


def _spoken(row: PanelRow, price_place: int) -> tuple[Value, ...]:
    return tuple(
        value
        if value is None or isinstance(value, str)
        else rounded(Decimal(value), places_of(Decimal(value), PRICE_DIGITS))
        if place == price_place
        else _spoken_value(value)
        for place, value in enumerate(row.values)
    )


def _spoken_value(value: Decimal | int) -> Value:
    spoken = Decimal(str(round_significant(float(value), SPOKEN_DIGITS)))
    return int(spoken) if spoken == spoken.to_integral_value() else spoken.normalize()


def _flip(setup: Setup, flip: Flip) -> PanelRow:
    low, high = zone_ends(setup.axis, flip.zone)
    is_sure = low is not None and high is not None and low > high
    ends: tuple[Value, Value] = (None, None) if is_sure else (low, high)
    how = "the runs leave no doubt" if is_sure else HOW_SURE.get(flip.zone.kind, flip.zone.kind)
    price = None if flip.price is None else amount(flip.price)
    return PanelRow((_shown(flip.value), flip.first.name, flip.other.name, price, *ends, how))


def line_panel(setup: Setup) -> Panel:
    """Return the lines as they are drawn, a row for each value and choice."""
    columns = (
        f"{setup.handle.title}, {setup.handle.unit_words}", "System", "Licence", f"Price, {setup.unit}", "From", "To",
        "No price",
    )  # fmt: skip
    rows = tuple(row for subject in setup.drawn for row in _line(setup, subject))
    return Panel(LINES, "Prices along the axis with their ranges", (), columns, rows)


def _line(setup: Setup, subject: Subject) -> list[PanelRow]:
    has_spread, choice = subject.load.level.throughput.n > 1, subject.choice
    rows = []
    for point in setup.laboratory.points(choice):
        ends = (point.low, point.high) if has_spread else (None, None)
        amounts = (None if end is None else amount(Fraction(end)) for end in ends)
        price = None if point.price is None else amount(point.price)
        names = (_shown(point.value), choice.system_label, choice.licence_label)
        rows.append(PanelRow((*names, price, *amounts, point.why)))
    return rows


def wide_panel(setup: Setup) -> Panel:
    """Return the lines side by side, a row for each value, as an eye compares them; a file has each with its range."""
    choices = [subject.choice for subject in setup.drawn]
    columns = (f"{setup.handle.title}, {setup.handle.unit_words}", *(choice.name for choice in choices))
    rows = tuple(
        PanelRow(
            (_shown(value), *(_price(setup, choice, value) for choice in choices)),
            is_marked=value == setup.handle.value,
        )
        for value in setup.laboratory.values
    )
    return Panel(LINES, f"Prices along the axis, {setup.unit}", (), columns, rows)


def _price(setup: Setup, choice: Choice, value: Decimal) -> Decimal | None:
    price = setup.laboratory.price(choice, value)
    return None if price is None else amount(price)


def handle_panel(setup: Setup) -> Panel:
    unit = f"{setup.currency} per {setup.comparison.prices.unit}"
    columns = (
        "System", "Licence", f"Price, {unit}", "From", "To", "which is", "Runs", f"Total, {setup.currency}",
        f"Per million transactions, {setup.currency}", "No price",
    )  # fmt: skip
    rows = tuple(_priced(subject, cell) for subject, cell in setup.ranked)
    return Panel(HANDLES, "Prices at the dotted line", (), columns, rows)


def _priced(subject: Subject, cell: Cell) -> PanelRow:
    names = (subject.choice.system_label, subject.choice.licence_label)
    if cell.quote is None or cell.spread is None:
        return PanelRow((*names, *[None] * 7, cell.refusal.sentence if cell.refusal else ""))
    has_spread = cell.spread.n > 1
    ends = (cell.lowest, cell.highest, cell.spread.kind) if has_spread else (None, None, "one run")
    amounts = (rounded(cell.quote.total), cell.per_million)
    return PanelRow((*names, cell.price, *ends, cell.spread.n, *amounts, ""), cell.steps)


def amount(price: Fraction) -> Decimal:
    """Round a price to cents, or to five digits where cents would be fewer."""
    quotient = Decimal(price.numerator) / Decimal(price.denominator)
    return rounded_quotient(price.numerator, price.denominator, places_of(quotient, DIGITS))


def _shown(value: Decimal) -> Value:
    """Return a value of the axis without digits that nobody set: a mean of repeats has 12."""
    return int(value) if value == value.to_integral_value() else trimmed(rounded(value, PLACES))
