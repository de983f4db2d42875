"""Tell how sure a price is: the interval that the spread of the runs leaves, and whether one price is the cheaper.

Money is exact, so that all doubt comes from the throughput. Below three repeats there is the range of repeats, and
which price is the cheaper is not tested; from three on there is the 95% interval of the geometric mean, as for the
throughput itself (analysis/statistics/spread.py), and a probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from benchhub.analysis.statistics import estimate
from benchhub.analysis.statistics.drift import NOT_IN_TURNS
from benchhub.analysis.statistics.estimate import NOT_DISTINGUISHABLE, NOT_TESTED, WITHHELD, Estimate
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL, RANGE, summarise
from benchhub.analysis.statistics.student import t_within
from benchhub.analysis.words import round_significant

from .quote import Quote, Throughput, require_alike

SAME_RUNS = "same runs on both sides"
WELCH = "95% interval of the ratio"
PERCENT = 100
CHEAPER, DEARER = "cheaper", "dearer"
# Above this probability of being the cheaper the 95% interval of the ratio leaves 1 out.
SURE = 0.975


@dataclass(frozen=True, slots=True)
class PriceInterval:
    """An interval of a price, in money per unit of throughput.

    `kind` is that of the throughput's spread; `n` the number of repeats, 0 where only a range is known.
    """

    low: Decimal
    high: Decimal
    kind: str
    n: int


@dataclass(frozen=True, slots=True)
class PriceRatio:
    """A price as a multiple of another. `value` is the ratio of the quoted prices.

    `probability_cheaper` is the probability that the first is the cheaper one; None where that is not tested.
    """

    value: float
    low: float
    high: float
    kind: str
    n: int
    other_n: int
    probability_cheaper: float | None = None

    @property
    def has_spread(self) -> bool:
        if self.kind == WITHHELD:
            return False
        return self.low < self.high or self.kind == SAME_RUNS or max(self.n, self.other_n) > 1

    @property
    def is_tested(self) -> bool:
        """Tell whether anything says how sure the ratio is; ranges of few repeats do not.

        With two repeats of each, the ranges of two equals lie apart once in three times.
        """
        is_of_few_repeats = self.kind == RANGE and max(self.n, self.other_n) > 0
        return self.has_spread and not is_of_few_repeats

    @property
    def is_distinguishable(self) -> bool:
        """Tell whether the interval of the ratio leaves 1 out; intervals of the two prices may overlap all the same."""
        return self.is_tested and not self.low <= 1 <= self.high

    @property
    def verdict(self) -> str:
        """Return 'cheaper', 'dearer', 'not distinguishable', 'not tested' or 'withheld'."""
        if self.kind == WITHHELD or not self.is_tested:
            return WITHHELD if self.kind == WITHHELD else NOT_TESTED
        if not self.is_distinguishable:
            return NOT_DISTINGUISHABLE
        return CHEAPER if self.value < 1 else DEARER

    @property
    def sentence(self) -> str:
        verdict = f"The price is {self.value:.3g}x the other"
        if self.kind == WITHHELD:
            return f"{verdict}, but nothing says how sure this is: {NOT_IN_TURNS}."
        if not self.has_spread:
            return f"{verdict}: {NOT_TESTED}, as {estimate.why_not_tested(self.n, self.other_n)}."
        if self.kind == SAME_RUNS:
            return f"{verdict}: the same runs are behind both, so that their spread does not matter."
        bounds = f"{verdict} ({self.kind} {self.low:.3g} to {self.high:.3g}, {self.n} and {self.other_n} repeats)"
        return f"{bounds}: {self._conclusion}."

    @property
    def _conclusion(self) -> str:
        if self.probability_cheaper is None:
            reason = "" if self.is_tested else f", as {estimate.why_not_tested(self.n, self.other_n)}"
            return f"{self.verdict}{reason}"
        return f"{self.verdict}; the probability that it is the cheaper is {probability(self.probability_cheaper)}"


def interval(quote: Quote) -> PriceInterval:
    """Return the interval of a price: its total over the interval of the throughput, or over the range of repeats."""
    throughput = quote.throughput
    if not throughput.repeats:
        return PriceInterval(quote.total / throughput.highest, quote.total / throughput.lowest, RANGE, 0)
    spread = summarise(throughput.repeats)
    if not throughput.has_interval:
        spread = replace(spread, interval=None)
    low, high = Decimal(str(spread.low)), Decimal(str(spread.high))
    return PriceInterval(quote.total / high, quote.total / low, spread.kind, spread.n)


def ratio(quote: Quote, other: Quote) -> PriceRatio:
    """Return the price of a quote over that of another. Raises UnlikeCurrenciesError or UnlikeMetricsError.

    The ratio of totals is exact, so that of prices is as unsure as the ratio of throughputs. From three repeats on each
    side that is Welch's t interval on the logarithms of the repeats, as curves are compared. The probability is the
    share of the same t distribution on the cheaper side. Otherwise the range is that of the extreme repeats. Two
    licences over the same runs share their doubt: it cancels out.
    """
    require_alike([quote, other])
    return _price_ratio(quote.total, quote.throughput, other.total, other.throughput)


# A page holds every price against the lowest of its column and of all, and again each time that a term changes.
@lru_cache(maxsize=8192)
def _price_ratio(
    total: Decimal, throughput: Throughput, other_total: Decimal, other_throughput: Throughput
) -> PriceRatio:
    value = _quotient(total * other_throughput.value, other_total * throughput.value)
    sizes = len(throughput.repeats), len(other_throughput.repeats)
    if throughput.evidence and throughput == other_throughput:
        return PriceRatio(value, value, value, SAME_RUNS, *sizes)
    difference = _difference(throughput.repeats, other_throughput.repeats)
    if difference is None:
        low = _quotient(total * other_throughput.lowest, other_total * throughput.highest)
        high = _quotient(total * other_throughput.highest, other_total * throughput.lowest)
        return PriceRatio(value, low, high, RANGE, *sizes)
    return _welch(_quotient(total, other_total), difference, PriceRatio(value, value, value, WELCH, *sizes))


def _difference(repeats: tuple[float, ...], other_repeats: tuple[float, ...]) -> Estimate | None:
    """Return the logarithm of the other throughput over this one; None where that is not tested."""
    if min(len(repeats), len(other_repeats)) < FEWEST_FOR_INTERVAL:
        return None
    difference = estimate.of_repeats(other_repeats) - estimate.of_repeats(repeats)
    return difference if difference.has_scatter else None


def without_bounds(ratio: PriceRatio) -> PriceRatio:
    """Return the ratio of two prices whose systems were run one after the other: nothing says how sure it is."""
    return PriceRatio(ratio.value, ratio.value, ratio.value, WITHHELD, ratio.n, ratio.other_n)


def _quotient(dividend: Decimal, divisor: Decimal) -> float:
    return float(Fraction(dividend) / Fraction(divisor)) if divisor else math.inf


def _welch(ratio_of_totals: float, difference: Estimate, price_ratio: PriceRatio) -> PriceRatio:
    low, high = (ratio_of_totals * end for end in difference.interval())
    t = (math.log(ratio_of_totals) + difference.value) / math.sqrt(difference.variance)
    within = math.copysign(t_within(abs(t), difference.degrees), t)
    return replace(price_ratio, low=low, high=high, probability_cheaper=(1 - within) / 2)


def probability(value: float) -> str:
    """Write a probability in per cent."""
    percent = PERCENT * value
    if percent > 99.9:
        return "over 99.9%"
    return "below 0.1%" if percent < 0.1 else f"{round_significant(percent, 3):g}%"
