"""The table of prices: each curve's price per unit of throughput under each licence model, with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchhub.analysis.pricing.licences.metrics.plain import USER
from benchhub.analysis.pricing.money import PricingError
from benchhub.analysis.pricing.questions import SECONDS_OF, is_to_be_restated
from benchhub.analysis.pricing.quote import IN_WORDS, Quote, quote_of
from benchhub.analysis.statistics.leader import NO_CLEAR_WINNER
from benchhub.analysis.words import listing, plain
from benchhub.catalog.models import LicenceModel
from benchhub.reports.curves.curves import SystemCurve

from .cells import Cell, Row, Verdict, places_of, with_amounts
from .loads import CLOSED_LOOP, At, at, counted_clients
from .orders import Costs, NoPrice, Priced
from .queries import PriceBook
from .terms import MILLION, PEAK, WITHIN, Terms
from .verdicts import lowest_of, with_verdicts

MILLION_WORDS = "million transactions"


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
        best = lowest_of([(label_of(row, cell), row.system_curve, cell) for row, cell in quoted])
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
    rows = with_verdicts(rows, models)
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
        return f"The cheapest is {text}."
    if not verdict.leader.candidates:
        return f"Lowest as measured: {text}; {verdict.leader.words}."
    words = verdict.leader.words.removeprefix(f"{NO_CLEAR_WINNER}: ")
    return f"{NO_CLEAR_WINNER.capitalize()}: {text}, is {words}."


def metered(models: Sequence[LicenceModel]) -> list[LicenceModel]:
    """Return the licence models that cost something."""
    return [model for model in models if model.is_licensed]
