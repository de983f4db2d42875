"""Answer questions about prices: per million transactions, at which load, from how many cores, and what moves it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from benchhub.analysis.words import count, listing

from .licences.cost import Licence
from .licences.units import NotEligible
from .money import (
    CENTS,
    HUNDRED,
    Amount,
    Number,
    PricingError,
    Rounding,
    UnlikeCurrenciesError,
    number,
    rounded_quotient,
)
from .quote import USUAL, Cost, Order, Quote, Terms, Throughput, digits, licence_cost, quote, require_alike
from .steps import Step, step
from .topology import Deployment, Machine, Node

SECONDS_A_YEAR = 365 * 24 * 3600
MILLION = 1_000_000
RESTATED_PERCENT = 2
# Seconds that the rate of a unit is over. A query is no transaction, so that QphH has none.
SECONDS_OF = {"TPS": 1, "tpsE": 1, "MQTh": 1, "NOPM": 60, "TPM": 60, "tpmC": 60}


@dataclass(frozen=True, slots=True)
class PerMillion:
    """Money per million transactions: the total over all transactions of the term at a share of the throughput."""

    quote: Quote
    utilisation_percent: Decimal
    transactions: Fraction

    @property
    def quotient(self) -> Decimal:
        """Return the price to 28 significant digits; to round it, ask `price`."""
        return self.quote.total * MILLION * self.transactions.denominator / self.transactions.numerator

    def price(self, places: int = CENTS, rounding: Rounding = "nearest") -> Decimal:
        exact = Fraction(self.quote.total) * MILLION / self.transactions
        return rounded_quotient(exact.numerator, exact.denominator, places, rounding)

    @property
    def step(self) -> Step:
        term, unit = self.quote.term_years, self.quote.throughput.unit
        template = (
            "Per million: {term} x 31,536,000 s at {percent}% of {throughput} {unit} are {transactions} transactions; "
            "{total} over them is {result} {currency} per million"
        )
        return step(
            "per_million",
            template,
            digits(self.quotient),
            term=count(term, "year"),
            percent=self.utilisation_percent,
            throughput=number(self.quote.throughput.value),
            transactions=round(self.transactions),
            total=Amount(self.quote.total, self.quote.currency),
            unit=unit,
            currency=self.quote.currency,
        )


def per_million(quote: Quote, utilisation_percent: Decimal) -> PerMillion:
    """Price a million transactions at a utilisation over the term (years of 365 days). Raises PricingError."""
    unit = quote.throughput.unit
    if unit not in SECONDS_OF:
        raise PricingError(f"{unit} does not count transactions over a time, so there is no price per million of them.")
    if not 0 < utilisation_percent <= HUNDRED:
        raise PricingError("Write a utilisation above 0 and up to 100 per cent.")
    per_second = Fraction(quote.throughput.value) / SECONDS_OF[unit]
    share = Fraction(utilisation_percent) / 100
    return PerMillion(quote, utilisation_percent, per_second * share * SECONDS_A_YEAR * quote.term_years)


@dataclass(frozen=True, slots=True)
class Crossing:
    """Costs of two licence models, support included, on a machine of so many cores; None where one is not eligible.

    `cheaper` is a name, or empty where they cost the same or neither is to be had; `steps` lead to both costs.
    """

    cores_per_socket: int
    cost: Decimal | None
    other_cost: Decimal | None
    cheaper: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Costs of two licence models; `changes` are the rows at which the cheaper one changes, or is none."""

    currency: str
    rows: tuple[Crossing, ...]

    @property
    def changes(self) -> tuple[Crossing, ...]:
        following = zip(self.rows, self.rows[1:], strict=False)
        return tuple(after for before, after in following if after.cheaper != before.cheaper)


def break_even(
    first_licence: Licence,
    other: Licence,
    machine: Machine,
    cores_per_socket: Iterable[int],
    terms: Terms = USUAL,
    named_users: int | None = None,
    poolers: tuple[Node, ...] = (),
) -> BreakEven:
    """Compare two licence models as a socket grows; the rest of the machine stays, its users, and `poolers` beside it.

    Costs in unlike currencies are converted where the terms name a currency and have the rates. Raises
    UnlikeCurrenciesError.
    """
    rows, currencies = [], set()
    for cores in cores_per_socket:
        server = Node(replace(machine, cores_per_socket=cores, unlike_cores=()))
        deployment = Deployment((server, *poolers), named_users)
        costs = [licence_cost(licence, deployment, terms) for licence in (first_licence, other)]
        currencies |= {cost.currency for cost in costs if isinstance(cost, Cost) and cost.currency}
        first_cost, second_cost = (cost.total if isinstance(cost, Cost) else None for cost in costs)
        steps = tuple(step for cost in costs if isinstance(cost, Cost) for step in cost.steps)
        rows.append(
            Crossing(
                cores, first_cost, second_cost, _cheaper(first_licence.name, first_cost, other.name, second_cost), steps
            )
        )
    if len(currencies) > 1:
        names = listing(sorted(currencies))
        raise UnlikeCurrenciesError(f"Licences in {names} have no break-even: name one currency, and a dated rate.")
    return BreakEven("".join(currencies), tuple(rows))


def _cheaper(name: str, cost: Decimal | None, other_name: str, other_cost: Decimal | None) -> str:
    if cost is None or other_cost is None:
        return name if cost is not None else other_name if other_cost is not None else ""
    return "" if cost == other_cost else name if cost < other_cost else other_name


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one setting: the price with it low and high, all else equal; quotients, not rounded."""

    name: str
    low: Decimal
    high: Decimal
    at_low: Quote
    at_high: Quote

    @property
    def price_at_low(self) -> Decimal:
        return self.at_low.quotient

    @property
    def price_at_high(self) -> Decimal:
        return self.at_high.quotient

    @property
    def size(self) -> Decimal:
        return abs(self.price_at_high - self.price_at_low)


RANGES: Mapping[str, tuple[Decimal, Decimal]] = {
    "term": (Decimal(1), Decimal(5)),
    "discount": (Decimal(0), Decimal(25)),
    "support": (Decimal(15), Decimal(25)),
    "utilisation": (Decimal(50), Decimal(100)),
}


def sensitivity(
    order: Order,
    throughput: Throughput,
    terms: Terms = USUAL,
    ranges: Mapping[str, tuple[Decimal, Decimal]] = RANGES,
) -> tuple[Effect, ...]:
    """Return how far each setting alone moves the price, largest first.

    Term in years; discount on everything, support and utilisation in per cent. What moves nothing is left out: support
    without a perpetual licence, utilisation without one by the hour. So is a setting at which there is no price, such
    as a term that a sheet's maintenance is not priced for. Raises what `quote` raises for the order as it is.
    """
    quote(order, throughput, terms)
    effects = []
    for name, (low, high) in ranges.items():
        at_low, at_high = (_at(order, throughput, terms, name, value) for value in (low, high))
        if at_low is not None and at_high is not None and at_low.quotient != at_high.quotient:
            effects.append(Effect(name, low, high, at_low, at_high))
    return tuple(sorted(effects, key=lambda effect: effect.size, reverse=True))


def _at(order: Order, throughput: Throughput, terms: Terms, name: str, value: Decimal) -> Quote | None:
    if name == "term":
        terms = replace(terms, years=int(value))
    elif name == "discount":
        terms = replace(terms, discount_percent=value)
    else:
        order = replace(order, licences=tuple(SETTERS[name](licence, value) for licence in order.licences))
    try:
        result = quote(order, throughput, terms)
    except PricingError:
        return None
    return None if isinstance(result, NotEligible) else result


def with_support(licence: Licence, value: Decimal) -> Licence:
    """Return the licence with so many per cent a year if it is bought for good; any other has no support of its own."""
    if licence.rules.metric == "none" or licence.rules.payment != "perpetual":
        return licence
    return replace(licence, rules=replace(licence.rules, support_percent=value))


def _with_utilisation(licence: Licence, value: Decimal) -> Licence:
    if licence.rules.payment != "hourly" or licence.rules.reserved_years:
        return licence
    return replace(licence, rules=replace(licence.rules, utilisation_percent=value))


SETTERS: Mapping[str, Callable[[Licence, Decimal], Licence]] = {
    "support": with_support,
    "utilisation": _with_utilisation,
}


def pareto(quotes: Sequence[Quote]) -> tuple[int, ...]:
    """Return the indexes of the quotes that no other beats: none costs as little and gives as much.

    By rising total. Raises UnlikeCurrenciesError or UnlikeMetricsError.
    """
    require_alike(quotes)
    points = [(quote.total, quote.throughput.value) for quote in quotes]
    frontier = [index for index, point in enumerate(points) if not any(_beats(other, point) for other in points)]
    return tuple(sorted(frontier, key=lambda index: points[index]))


def _beats(other: tuple[Decimal, Decimal], point: tuple[Decimal, Decimal]) -> bool:
    return other[0] <= point[0] and other[1] >= point[1] and other != point


@dataclass(frozen=True, slots=True)
class Load:
    """One level of a curve; `latency_ms` is what a ceiling is about (say which to the reader), None if not known."""

    throughput: Throughput
    latency_ms: float | None = None


def at_peak(loads: Sequence[Load]) -> Load:
    """Return the load with the highest throughput, of equals the fewest clients. Raises PricingError without one."""
    if not loads:
        raise PricingError("There is no level to be priced: nothing was measured.")
    return min(loads, key=lambda load: (-load.throughput.value, load.throughput.clients or 0))


def at_clients(loads: Sequence[Load], clients: int) -> Load:
    """Return the load of so many clients, never one in between. Raises PricingError with the levels there are."""
    for load in loads:
        if load.throughput.clients == clients:
            return load
    levels = ", ".join(str(load.throughput.clients) for load in loads)
    raise PricingError(f"{clients} clients were not measured. Choose a level that was: {levels}.")


def best_under(loads: Sequence[Load], ceiling_ms: Number | float) -> Load:
    """Return the best load under the latency ceiling. Raises PricingError with the lowest latency."""
    timed_loads = [(load.latency_ms, load) for load in loads if load.latency_ms is not None]
    if not timed_loads:
        raise PricingError("No level has a known latency, so that none can be held against a ceiling.")
    candidates = [load for latency_ms, load in timed_loads if latency_ms <= ceiling_ms]
    if not candidates:
        least = min(latency_ms for latency_ms, _ in timed_loads)
        raise PricingError(f"No level keeps {ceiling_ms} ms: the lowest latency measured is {least:g} ms.")
    return at_peak(candidates)


def is_to_be_restated(before: Quote, after: Quote) -> bool:
    """Tell whether a new price list moves price/performance by 2% or more, so that the result is to be stated again."""
    require_alike([before, after])
    old, new = (Fraction(quote.total) / Fraction(quote.throughput.value) for quote in (before, after))
    return abs(new - old) * 100 >= RESTATED_PERCENT * old
