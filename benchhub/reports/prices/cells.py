"""The cells of the table of prices: a quote as shown, with its amounts, interval and verdict; rows of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from benchhub.analysis.pricing.certainty import SURE, PriceInterval, PriceRatio, interval, probability
from benchhub.analysis.pricing.money import number, rounded
from benchhub.analysis.pricing.questions import SECONDS_OF, per_million
from benchhub.analysis.pricing.quote import Quote, digits
from benchhub.analysis.pricing.steps import Step, step
from benchhub.analysis.statistics.leader import UNSURE, Leader
from benchhub.analysis.statistics.spread import INTERVAL
from benchhub.catalog.models import LicenceModel
from benchhub.reports.curves.curves import SystemCurve

from .loads import At
from .orders import NoPrice, Priced
from .terms import MILLION, Terms

LOWEST = "lowest"
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
