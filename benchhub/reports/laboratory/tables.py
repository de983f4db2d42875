"""The tables behind the chart, as the page shows them and as CSV has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from benchhub.analysis.pricing.certainty import SAME_RUNS
from benchhub.analysis.pricing.laboratory.axis import SPOKEN_DIGITS
from benchhub.analysis.pricing.laboratory.choices import Choice
from benchhub.analysis.pricing.laboratory.flips import TESTED, Flip
from benchhub.analysis.pricing.laboratory.words import zone_ends
from benchhub.analysis.pricing.money import CENTS, rounded, rounded_quotient, trimmed
from benchhub.reports.curves.panel import Panel, PanelRow, Value
from benchhub.reports.prices.cells import Cell, places_of

from .setup import Setup, Subject

FLIPS, LINES, HANDLES = "flips", "lines", "handles"
TABLES = (FLIPS, LINES, HANDLES)
DIGITS, PLACES = 5, 6
VALUE_PLACES = (0, 4, 5)  # where a flip has the value of the handle and the ends of its zone
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
    """Return the flips with no more digits than the sentences beside them, alike down a column; a file has all."""
    panel = flip_panel(setup)
    columns = list(zip(*(row.values for row in panel.rows), strict=True))
    price_place = panel.columns.index(f"Price there, {setup.unit}")
    value_places = (
        _places([value for place in VALUE_PLACES for value in columns[place]], SPOKEN_DIGITS) if columns else 0
    )
    places = dict.fromkeys(VALUE_PLACES, value_places)
    if columns:
        places[price_place] = max(CENTS, _places(columns[price_place], PRICE_DIGITS))
    rows = (
        replace(row, values=tuple(_at(value, places.get(place, 0)) for place, value in enumerate(row.values)))
        for row in panel.rows
    )
    return replace(panel, rows=tuple(rows))


def _at(value: Value, places: int) -> Value:
    if value is None or isinstance(value, str):
        return value
    return rounded(Decimal(value), places) if places else int(rounded(Decimal(value), 0))


def _places(values: Iterable[Value], digits: int) -> int:
    """Return the decimals that give the largest so many digits, and the smallest two; none for whole numbers."""
    numbers = [Decimal(value) for value in values if value and not isinstance(value, str)]
    if all(number == number.to_integral_value() for number in numbers):
        return 0
    sizes = [number.adjusted() for number in numbers]
    return max(0, digits - 1 - max(sizes), 1 - min(sizes))


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
    """Return the lines side by side, a row for each value, as an eye compares them, with digits as people write them.

    A file has each price with all its digits and its range.
    """
    choices = [subject.choice for subject in setup.drawn]
    columns = (f"{setup.handle.title}, {setup.handle.unit_words}", *(choice.name for choice in choices))
    values = setup.laboratory.values
    prices = [[_price(setup, choice, value) for choice in choices] for value in values]
    places = max(CENTS, _places((price for row in prices for price in row), PRICE_DIGITS))
    rows = tuple(
        PanelRow((_shown(value), *(_at(price, places) for price in row)), is_marked=value == setup.handle.value)
        for value, row in zip(values, prices, strict=True)
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
