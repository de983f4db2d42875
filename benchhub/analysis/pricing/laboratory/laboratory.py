"""Price choices along an axis, each with its uncertainty, by the engine that prices every order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from benchhub.analysis.pricing import quote as pricing
from benchhub.analysis.pricing.certainty import PriceRatio, interval, ratio, without_bounds
from benchhub.analysis.pricing.licences.units import NotEligible
from benchhub.analysis.pricing.money import PricingError
from benchhub.analysis.pricing.questions import MILLION, SECONDS_A_YEAR, SECONDS_OF
from benchhub.analysis.pricing.quote import Cost, Quote, Terms

from .axis import Axis
from .choices import Choice, order_at, terms_at, throughput_at
from .handles import CORES, DISCOUNT, LICENCE_DISCOUNT, PRICE, TERM, UTILISATION, Handles

DEFAULT_UTILISATION = Decimal(50)


@dataclass(frozen=True, slots=True)
class Point:
    """The price of a choice at a value of the axis, exactly; None where it is not to be had, for which `why` says why.

    `low` and `high` are the interval that the throughput leaves, or the range of its repeats.
    """

    value: Decimal
    price: Fraction | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the engine says of an order: its cost, or why there is none."""

    cost: Cost | None
    why: str = ""


class Laboratory:
    """Choices along an axis, all other handles where they are. `withheld` are pairs of systems run one after another.

    Along utilisation a price is that of a million transactions, elsewhere that of a unit of throughput.
    """

    def __init__(
        self,
        choices: Sequence[Choice],
        terms: Terms,
        handles: Handles,
        axis: Axis,
        withheld: Iterable[frozenset[str]] = (),
    ) -> None:
        self.choices, self.terms, self.handles, self.axis = tuple(choices), terms, handles, axis
        self.withheld = frozenset(withheld)
        self._answers: dict[tuple[object, ...], Answer] = {}
        self._prices: dict[tuple[str, str, Decimal], Fraction | None] = {}

    @property
    def is_per_million(self) -> bool:
        return self.axis.name == UTILISATION

    @cached_property
    def values(self) -> tuple[Decimal, ...]:
        handle = self.handles.value(self.axis.name)
        return self.axis.values(() if handle is None else (handle,))

    def points(self, choice: Choice) -> list[Point]:
        """Return the price of a choice at each value that is drawn."""
        return [self.point(choice, value) for value in self.values]

    def point(self, choice: Choice, value: Decimal) -> Point:
        answer, handles = self._answer(choice, value), self._moved(value)
        if answer.cost is None:
            return Point(value, why=answer.why)
        spread = interval(Quote(answer.cost, throughput_at(choice, handles), ()))
        factor = self._factor(choice, handles)
        low, high = (Fraction(end) * factor for end in (spread.low, spread.high))
        return Point(value, self.price(choice, value), _decimal(low), _decimal(high))

    def price(self, choice: Choice, value: Decimal) -> Fraction | None:
        """Return the exact price at a value; None where there is none."""
        key = (choice.system, choice.licence, value)
        if key not in self._prices:
            self._prices[key] = self._priced(choice, value)
        return self._prices[key]

    def _priced(self, choice: Choice, value: Decimal) -> Fraction | None:
        cost, handles = self._answer(choice, value).cost, self._moved(value)
        if cost is None:
            return None
        quotient = Fraction(cost.total) / Fraction(throughput_at(choice, handles).value)
        return quotient * self._factor(choice, handles)

    def quote(self, choice: Choice) -> Quote | str:
        """Return the price where the handles are, with every step to it; a sentence where there is none."""
        answer = self._costed(choice, self.handles)
        if answer.cost is None:
            return answer.why
        return pricing.quote_of(answer.cost, throughput_at(choice, self.handles))

    def ratio(self, choice: Choice, other: Choice, value: Decimal) -> PriceRatio | None:
        """Return a price over another with how sure it is; None where one of them is not to be had or costs nothing."""
        handles = self._moved(value)
        costs = [self._answer(part, value).cost for part in (choice, other)]
        quotes = [
            Quote(cost, throughput_at(part, handles), ())
            for part, cost in zip((choice, other), costs, strict=True)
            if cost is not None and cost.total > 0
        ]
        if len(quotes) < 2:
            return None
        price_ratio = ratio(*quotes)
        is_withheld = frozenset((choice.system, other.system)) in self.withheld
        return without_bounds(price_ratio) if is_withheld else price_ratio

    def _moved(self, value: Decimal) -> Handles:
        return self.handles.moved(self.axis.name, value)

    def _answer(self, choice: Choice, value: Decimal) -> Answer:
        return self._costed(choice, self._moved(value))

    def _costed(self, choice: Choice, handles: Handles) -> Answer:
        """Ask the engine once for what is the same: throughput and utilisation change no cost."""
        licence, cores = handles.licence == choice.licence, handles.hardware == choice.hardware
        names = [name for name in (PRICE, LICENCE_DISCOUNT) if licence] + [CORES] * cores + [TERM, DISCOUNT]
        key = (choice.hardware, choice.pooler, choice.licence, *(handles.value(name) for name in names))
        if key not in self._answers:
            self._answers[key] = _ask(choice, self.terms, handles)
        return self._answers[key]

    def _factor(self, choice: Choice, handles: Handles) -> Fraction:
        """Return what a price of a unit is multiplied by; by 1 unless prices are of a million transactions."""
        seconds = SECONDS_OF.get(choice.throughput.unit)
        if not self.is_per_million or seconds is None:
            return Fraction(1)
        share = Fraction(handles.value(UTILISATION) or DEFAULT_UTILISATION) / 100
        return Fraction(MILLION * seconds) / (share * SECONDS_A_YEAR * terms_at(self.terms, handles).years)


def _ask(choice: Choice, terms: Terms, handles: Handles) -> Answer:
    try:
        cost = pricing.cost(order_at(choice, handles), terms_at(terms, handles))
    except PricingError as error:
        return Answer(None, str(error))
    return Answer(None, str(cost)) if isinstance(cost, NotEligible) else Answer(cost)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
