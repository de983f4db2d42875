"""Tell how sure a price is: the interval that the spread of the runs leaves, and whether one price is the cheaper.

Money is exact, so that all doubt comes from the throughput. Below three repeats there is the range of repeats and no
probability; from three on the 95% interval of the mean, as for the throughput itself (analysis/spread.py).
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from benchhub.analysis.statistics.drift import NOT_IN_TURNS
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL, RANGE, summarise
from benchhub.analysis.statistics.student import t_quantile, t_within
from benchhub.analysis.words import round_significant

from .quote import Quote, Throughput, require_alike

SAME_RUNS = "same runs on both sides"
WITHHELD = "withheld"
WELCH = "95% interval of the ratio"
PERCENT = 100


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

    `probability_cheaper` is the probability that the first is the cheaper one; None where repeats are too few to tell.
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
    def is_distinguishable(self) -> bool:
        """Tell whether the interval of the ratio leaves 1 out; intervals of the two prices may overlap all the same.

        Ranges of few repeats never do: with two of each, those of two equals lie apart once in three times.
        """
        has_few_repeats = self.kind == RANGE and max(self.n, self.other_n) > 0
        return self.has_spread and not has_few_repeats and not self.low <= 1 <= self.high

    @property
    def sentence(self) -> str:
        verdict = f"The price is {self.value:.3g}x the other"
        if self.kind == WITHHELD:
            return f"{verdict}, but nothing says how sure this is: {NOT_IN_TURNS}."
        if not self.has_spread:
            return f"{verdict}; single runs show no spread, so nothing says how sure this is."
        if self.kind == SAME_RUNS:
            return f"{verdict}: the same runs are behind both, so that their spread does not matter."
        bounds = f"{verdict} ({self.kind} {self.low:.3g} to {self.high:.3g}, {self.n} and {self.other_n} repeats)"
        return f"{bounds}: {self._conclusion}."

    @property
    def _conclusion(self) -> str:
        word = ("cheaper" if self.value < 1 else "dearer") if self.is_distinguishable else "not distinguishable"
        if self.probability_cheaper is None:
            return f"{word}, by few repeats and without an interval"
        return f"{word}; the probability that it is the cheaper is {_probability(self.probability_cheaper)}"


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
    side that is Welch's t interval on the logarithms of the repeats (unequal spreads; degrees of freedom by Welch and
    Satterthwaite, rounded down, which makes the interval a little wider). The probability is the share of the same t
    distribution on the cheaper side. Otherwise the range is that of the extreme repeats. Two licences over the same
    runs share their doubt: it cancels out.
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
    if min(sizes) < FEWEST_FOR_INTERVAL:
        low = _quotient(total * other_throughput.lowest, other_total * throughput.highest)
        high = _quotient(total * other_throughput.highest, other_total * throughput.lowest)
        return PriceRatio(value, low, high, RANGE, *sizes)
    return _welch(_quotient(total, other_total), throughput.repeats, other_throughput.repeats, value)


def without_bounds(ratio: PriceRatio) -> PriceRatio:
    """Return the ratio of two prices whose systems were run one after the other: nothing says how sure it is."""
    return PriceRatio(ratio.value, ratio.value, ratio.value, WITHHELD, ratio.n, ratio.other_n)


def _quotient(dividend: Decimal, divisor: Decimal) -> float:
    return float(Fraction(dividend) / Fraction(divisor)) if divisor else math.inf


@lru_cache(maxsize=4096)
def _log_mean(repeats: tuple[float, ...]) -> tuple[float, float]:
    """Return the mean of the logarithms, and the variance of that mean."""
    logs = [math.log(repeat) for repeat in repeats]
    return statistics.fmean(logs), statistics.variance(logs) / len(logs)


def _welch(
    ratio_of_totals: float, repeats: tuple[float, ...], other_repeats: tuple[float, ...], value: float
) -> PriceRatio:
    (mean, variance), (other_mean, other_variance) = _log_mean(repeats), _log_mean(other_repeats)
    variances = [variance, other_variance]
    centre = math.log(ratio_of_totals) - mean + other_mean
    error = math.sqrt(sum(variances))
    sizes = len(repeats), len(other_repeats)
    if not error:  # repeats that do not differ at all
        exact = math.exp(centre)
        return PriceRatio(value, exact, exact, WELCH, *sizes, 1.0 if centre < 0 else 0.5 if centre == 0 else 0.0)
    degrees = _degrees(variances, sizes)
    half = t_quantile(degrees) * error
    within = math.copysign(t_within(abs(centre) / error, degrees), centre)
    return PriceRatio(value, math.exp(centre - half), math.exp(centre + half), WELCH, *sizes, (1 - within) / 2)


def _degrees(variances: list[float], sizes: tuple[int, int]) -> int:
    """Return Welch and Satterthwaite's degrees of freedom, rounded down, at least the smaller side's n - 1."""
    parts = sum(variance**2 / (size - 1) for variance, size in zip(variances, sizes, strict=True))
    return max(min(sizes) - 1, math.floor(sum(variances) ** 2 / parts))


def _probability(value: float) -> str:
    percent = PERCENT * value
    if percent > 99.9:
        return "over 99.9%"
    return "below 0.1%" if percent < 0.1 else f"{round_significant(percent, 3):g}%"
