"""The table of prices: each curve's price per unit of throughput under each licence model, with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from benchhub.analysis.curves.curve import why_withheld
from benchhub.analysis.pricing.certainty import (
    SURE,
    PriceInterval,
    PriceRatio,
    interval,
    probability,
    ratio,
    without_bounds,
)
from benchhub.analysis.pricing.licences.metrics.plain import USER
from benchhub.analysis.pricing.money import PricingError, number, rounded
from benchhub.analysis.pricing.questions import SECONDS_OF, is_to_be_restated, per_million
from benchhub.analysis.pricing.quote import IN_WORDS, Quote, digits, quote_of
from benchhub.analysis.pricing.steps import Step, step
from benchhub.analysis.statistics.leader import NO_CLEAR_WINNER, UNSURE, Leader
from benchhub.analysis.statistics.spread import INTERVAL
from benchhub.analysis.words import listing, plain
from benchhub.catalog.models import LicenceModel
from benchhub.reports.curves.curves import SystemCurve

from .loads import CLOSED_LOOP, At, at, counted_clients
from .orders import Costs, NoPrice, Priced
from .queries import PriceBook
from .terms import MILLION, PEAK, WITHIN, Terms

LOWEST = "lowest"
MILLION_WORDS = "million transactions"
VERDICTS = (LOWEST, *UNSURE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The lowest price of a column against each of the others: (label, ratio of this price to the other)."""

    against: tuple[tuple[str, PriceRatio], ...]

    @property
    def leader(self) -> Leader:
        return Leader(tuple((label, price_ratio.verdict) for label, price_ratio in self.against))

    @property
    def is_lowest(self) -> bool:
        return self.leader.is_sure

    @property
    def name(self) -> str:
        """Return one of VERDICTS."""
        return self.leader.verdict or LOWEST

    @property
    def probability_text(self) -> str:
        """Write how probably it is cheaper than the closest other; empty where that is not tested."""
        probabilities = [price_ratio.probability_cheaper for _, price_ratio in self.against]
        least = min((value for value in probabilities if value is not None), default=None)
        if least is None or None in probabilities:
            return ""
        limit = "" if self.is_lowest else f"; the lowest takes more than {probability(SURE)}"
        return f"the cheaper one with a probability of {probability(least)}{limit}"


@dataclass(frozen=True, slots=True)
class Amounts:
    """A price and the ends of its interval or range, of what the terms ask the price of; `highest` may have no end."""

    price: Decimal
    lowest: Decimal
    highest: Decimal | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A quote as shown, or why there is none. Amounts are rounded by the terms, to digits that are known.

    `amounts` are what pages say, of a unit or of a million transactions; `price`, `lowest` and `highest` are always of
    a unit.
    """

    model: LicenceModel
    refusal: NoPrice | None = None
    priced: Priced | None = None
    quote: Quote | None = None
    price: Decimal | None = None
    spread: PriceInterval | None = None
    lowest: Decimal | None = None
    highest: Decimal | None = None
    per_million: Decimal | None = None
    amounts: Amounts | None = None
    steps: tuple[Step, ...] = ()
    flags: tuple[str, ...] = ()
    verdict: Verdict | None = None

    @property
    def licence(self) -> str:
        return str(self.model)

    @property
    def spread_words(self) -> str:
        """Say the kind of interval and the number of repeats behind it."""
        if self.spread is None or self.amounts is None or self.spread.n < 2:
            return "1 run, no spread"
        kind = "95% interval" if self.spread.kind == INTERVAL else "range of repeats"
        low, high = self.amounts.lowest, self.amounts.highest
        ends = f"{low:,} to {high:,}" if high is not None else f"from {low:,}, no end"
        return f"{kind} {ends}, {self.spread.n} runs"


@dataclass(frozen=True, slots=True)
class Row:
    """A curve at the load that the terms ask for; `refusal` says why there is no such level."""

    system_curve: SystemCurve
    at: At | None
    cells: tuple[Cell, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Lowest:
    """The lowest price of a table, whose label is 'system under licence', held against each of the others."""

    label: str
    row: Row
    cell: Cell
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of curves, columns of licence models. `choices` are all models and whether each is shown."""

    rows: tuple[Row, ...]
    licence_models: tuple[LicenceModel, ...]
    choices: tuple[tuple[LicenceModel, bool], ...]
    terms: Terms
    costs: Costs = field(repr=False)
    remark: str = ""

    @property
    def price_book(self) -> PriceBook:
        return self.costs.price_book

    @property
    def unit(self) -> str:
        return self.rows[0].system_curve.curve.unit if self.rows else ""

    @property
    def price_unit(self) -> str:
        """Return what a price is of: 'TPS' or, where the terms ask for it, 'million transactions'."""
        return MILLION_WORDS if self.is_per_million else self.unit

    @property
    def has_millions(self) -> bool:
        """Tell whether the throughput counts transactions over a time, so that a million of them have a price."""
        return self.unit in SECONDS_OF

    @property
    def is_per_million(self) -> bool:
        return self.has_millions and self.terms.per == MILLION

    @property
    def per(self) -> str:
        """Say in words what a price per unit is."""
        if self.is_per_million:
            return f"money per {MILLION_WORDS} at {plain(self.terms.utilisation_percent)}% use"
        return IN_WORDS.get(self.unit, f"money per {self.unit}")

    @property
    def loads(self) -> list[tuple[str, str]]:
        levels = sorted({level.clients for row in self.rows for level in row.system_curve.curve.levels})
        if self.terms.clients and self.terms.clients not in levels:
            levels = sorted([*levels, self.terms.clients])
        options = [(str(clients), f"at {counted_clients(clients)}") for clients in levels]
        return [(PEAK, "at the peak of each curve"), *options, (WITHIN, "best within a latency (closed loop)")]

    @property
    def load_words(self) -> str:
        """Complete the sentence 'money for each transaction per second ...'."""
        return {PEAK: "at the peak of the curve", WITHIN: f"at the best level within {self.terms.ceiling_ms:f} ms"}.get(
            self.terms.load, f"at {counted_clients(self.terms.clients or 0)}"
        )

    @property
    def closed_loop(self) -> str:
        return CLOSED_LOOP if self.terms.load == WITHIN else ""

    @property
    def currencies(self) -> list[str]:
        """Return the currencies to choose from; one that no exchange rate leads to is not offered."""
        return self.price_book.currencies

    @property
    def has_users(self) -> bool:
        return any(model.metric == USER.name or "max_users" in model.rules for model, _ in self.choices)

    @property
    def has_support(self) -> bool:
        """Tell whether support is paid apart from any licence."""
        return any(model.rules.get("payment") == "perpetual" for model, _ in self.choices)

    @property
    def quoted(self) -> list[tuple[Row, Cell]]:
        return [(row, cell) for row in self.rows for cell in row.cells if cell.quote]

    @property
    def lowest(self) -> Lowest | None:
        """Return the lowest price of all; None where nothing compares or a price is missing."""
        quoted = self.quoted
        best = _verdict([(label_of(row, cell), row.system_curve, cell) for row, cell in quoted])
        if not best:
            return None
        place, verdict = best
        return Lowest(label_of(*quoted[place]), *quoted[place], verdict)

    @property
    def lead(self) -> str:
        """Say which price is the lowest of all, or that there is no clear winner; empty where nothing compares."""
        return _lead(self)


def table(curves: Sequence[SystemCurve], price_book: PriceBook, terms: Terms) -> Table:
    """Price these curves, all of one unit, by the terms."""
    choices = tuple(
        (model, terms.shows(price_book.revisions.get(model.pk, {model.pk}))) for model in price_book.licence_models
    )
    if not any(is_shown for _, is_shown in choices):
        choices = tuple((model, True) for model, _ in choices)
    models = tuple(model for model, is_shown in choices if is_shown)
    costs = Costs(price_book, terms, terms.day)
    today = None if terms.is_of_today else Costs(price_book, terms, terms.today)
    rows = [_row(system_curve, models, costs, today, terms) for system_curve in curves]
    rows = _with_verdicts(rows, models)
    return Table(tuple(rows), models, choices, terms, costs, _remark(rows))


def _row(
    system_curve: SystemCurve, models: Sequence[LicenceModel], costs: Costs, today: Costs | None, terms: Terms
) -> Row:
    try:
        load = at(system_curve.curve, terms)
    except PricingError as error:
        return Row(system_curve, None, refusal=str(error))
    return Row(system_curve, load, tuple(_cell(system_curve, load, model, costs, today) for model in models))


def _cell(system_curve: SystemCurve, load: At, model: LicenceModel, costs: Costs, today: Costs | None) -> Cell:
    priced = costs.price(system_curve.system, model)
    if isinstance(priced, NoPrice):
        return Cell(model, priced)
    quote = quote_of(priced.cost, load.throughput)
    flags = priced.flags
    if today is not None:
        flags += _restated(quote, _of_today(system_curve, model, today))
    return with_amounts(Cell(model, priced=priced, quote=quote, flags=flags), quote, load, costs.terms)


def _of_today(system_curve: SystemCurve, model: LicenceModel, today: Costs) -> Priced | NoPrice:
    later = today.price_book.later(model)
    return today.price(system_curve.system, later) if later else NoPrice(f"{model} is not on offer any more.")


def with_amounts(cell: Cell, quote: Quote, load: At, terms: Terms) -> Cell:
    """Round the cell's amounts to the digits that the throughput has, and to the cent at the coarsest."""
    known_digits, spread = load.level.throughput.digits, interval(quote)
    places = places_of(quote.quotient, known_digits)
    quote_steps = quote.steps[len(quote.cost.steps) :]
    steps = (*(cell.priced.steps if cell.priced else ()), *quote_steps, *_interval_step(quote, spread))
    amounts = of_unit = Amounts(quote.price(places, terms.rounding), *_ends(spread, Decimal(1), places, terms))
    price_per_million = None
    if quote.throughput.unit in SECONDS_OF:
        million = per_million(quote, terms.utilisation_percent)
        million_places = places_of(million.quotient, known_digits)
        price_per_million = million.price(million_places, terms.rounding)
        steps = (*steps, million.step)
        if terms.per == MILLION:
            factor = million.quotient / quote.quotient if quote.quotient else Decimal(0)
            amounts = Amounts(price_per_million, *_ends(spread, factor, million_places, terms))
    return replace(
        cell,
        price=of_unit.price,
        spread=spread,
        lowest=of_unit.lowest,
        highest=of_unit.highest,
        per_million=price_per_million,
        amounts=amounts,
        steps=steps,
    )


def _ends(spread: PriceInterval, factor: Decimal, places: int, terms: Terms) -> tuple[Decimal, Decimal | None]:
    high = None if spread.high is None else rounded(factor * spread.high, places, terms.rounding)
    return rounded(factor * spread.low, places, terms.rounding), high


def places_of(quotient: Decimal, known_digits: int) -> int:
    return max(2, known_digits - 1 - quotient.adjusted()) if quotient else 2


def _interval_step(quote: Quote, spread: PriceInterval) -> tuple[Step, ...]:
    """Derive the interval of the geometric mean; the engine's steps have the range of repeats."""
    if spread.kind != INTERVAL or not spread.high:
        return ()
    template = (
        "Interval: the 95% interval of the geometric mean of {n} repeats is {low} to {high} {unit}, "
        "which gives {low_price} to {result} {currency} per {unit}"
    )
    low, high = number(quote.total / spread.high), number(quote.total / spread.low)
    words = {"low": low, "high": high, "unit": quote.throughput.unit, "currency": quote.currency}
    return (step("interval", template, digits(spread.high), n=spread.n, low_price=digits(spread.low), **words),)


def _restated(quote: Quote, today: Priced | NoPrice) -> tuple[str, ...]:
    if isinstance(today, NoPrice):
        return (f"There is no price of today to hold this one against: {today.sentence}",)
    after = quote_of(today.cost, quote.throughput)
    try:
        moves = is_to_be_restated(quote, after)
    except PricingError as error:
        return (f"Today's price cannot be held against this one: {error}",)
    if not moves or not quote.total:
        return ()
    percent = 100 * (after.total - quote.total) / quote.total
    price = after.price(places_of(after.quotient, 3))
    return (f"To be re-stated: by today's prices this is {price:,} {after.currency} per {after.throughput.unit}, "
            f"{percent:+.1f}%; 2% or more is a new result.",)  # fmt: skip


def _with_verdicts(rows: Sequence[Row], models: Sequence[LicenceModel]) -> list[Row]:
    """Give the lowest of each column its verdict, unless a price is missing in it or the currencies are unlike."""
    cell_rows = [list(row.cells) for row in rows]
    for column in range(len(models)):
        cells = [
            (row.system_curve, number, row_cells[column])
            for number, (row, row_cells) in enumerate(zip(rows, cell_rows, strict=True))
            if row_cells
        ]
        if lowest := _verdict([(system_curve.system.label, system_curve, cell) for system_curve, _, cell in cells]):
            place, verdict = lowest
            row_cells = cell_rows[cells[place][1]]
            row_cells[column] = replace(row_cells[column], verdict=verdict)
    return [replace(row, cells=tuple(row_cells)) for row, row_cells in zip(rows, cell_rows, strict=True)]


def _verdict(cells: Sequence[tuple[str, SystemCurve, Cell]]) -> tuple[int, Verdict] | None:
    if any(cell.refusal and not cell.refusal.is_not_eligible for *_, cell in cells):
        return None
    quoted = [
        (place, label, system_curve, cell.quote)
        for place, (label, system_curve, cell) in enumerate(cells)
        if cell.quote
    ]
    quotes = [quote for *_, quote in quoted]
    if len(quotes) < 2 or len({quote.currency for quote in quotes}) > 1 or any(not quote.total for quote in quotes):
        return None
    lowest_place, _, lowest, least = min(quoted, key=lambda candidate: candidate[3].quotient)
    curves = {id(system_curve): system_curve.curve for *_, system_curve, _ in quoted}
    withheld = {key: bool(why_withheld(lowest.curve, curve)) for key, curve in curves.items()}
    others = tuple(
        (label, _against(least, quote, withheld[id(system_curve)]))
        for place, label, system_curve, quote in quoted
        if place != lowest_place
    )
    return lowest_place, Verdict(others)


def _against(least: Quote, other: Quote, is_withheld: bool) -> PriceRatio:
    price_ratio = ratio(least, other)
    return without_bounds(price_ratio) if is_withheld else price_ratio


def _remark(rows: Sequence[Row]) -> str:
    currencies = sorted({cell.quote.currency for row in rows for cell in row.cells if cell.quote})
    if len(currencies) < 2:
        return ""
    return f"Prices in {listing(currencies)} are not compared with each other: the currencies are unlike."


def label_of(row: Row, cell: Cell) -> str:
    return f"{row.system_curve.system.label} under {cell.licence}"


def _lead(price_table: Table) -> str:
    lowest = price_table.lowest
    if lowest is None:
        return ""
    label, cell, verdict = lowest.label, lowest.cell, lowest.verdict
    assert cell.quote is not None
    assert cell.amounts is not None
    text = f"{label}, {cell.amounts.price:,} {cell.quote.currency} per {price_table.price_unit}"
    if verdict.is_lowest:
        return f"Lowest of all that is shown: {text}."
    if not verdict.leader.candidates:
        return f"Lowest as measured: {text}; {verdict.leader.words}."
    words = verdict.leader.words.removeprefix(f"{NO_CLEAR_WINNER}: ")
    return f"{NO_CLEAR_WINNER.capitalize()}: {text}, is {words}."


def metered(models: Sequence[LicenceModel]) -> list[LicenceModel]:
    """Return the licence models that cost something."""
    return [model for model in models if model.is_licensed]
