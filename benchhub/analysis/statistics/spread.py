"""Sum up repeated measurements: their geometric mean, their range or interval, and the digits to show.

The geometric mean is the one estimator of BenchHub: charts, tables, peaks, ratios, prices and sentences rest on it. The
ratio of two is the mean of ratios, turning it over turns the ratio over, and intervals are computed where it is a mean.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from benchhub.analysis.words import round_significant

from .student import t_quantile

RANGE = "range of repeats"
INTERVAL = "95% interval of the geometric mean"
FEWEST_FOR_INTERVAL = 3
# An interval that reaches from a tenth to ten times the mean says nothing, and its ends may be no numbers at all.
WIDEST = 10.0
DIGITS = 12


@dataclass(frozen=True, slots=True)
class Interval:
    """The bounds of the geometric mean of many such repeats with 95% confidence, if their logarithms scatter normally
    and independently.
    """

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Repeats of one measurement, in the unit they were measured in; fewer than three leave no interval, nor do
    repeats that scatter so far that it would say nothing.

    `mean` is the geometric mean; a single run is its own. `low` to `high` is what is shown beside it, and `kind` says
    which of the two it is: its interval where there is one, otherwise the range of repeats. `median`,
    `arithmetic_mean` and the sample standard deviation `sd` (None for one value) are for readers who compare with
    other reports: nothing rests on them.
    """

    n: int
    mean: float
    median: float
    arithmetic_mean: float
    lowest: float
    highest: float
    interval: Interval | None = None
    sd: float | None = None

    @property
    def kind(self) -> str:
        return INTERVAL if self.interval else RANGE

    @property
    def low(self) -> float:
        return self.interval.low if self.interval else self.lowest

    @property
    def high(self) -> float:
        return self.interval.high if self.interval else self.highest

    @property
    def percent(self) -> float | None:
        """Return the width of low..high in per cent of the mean; None for one value, which has no spread."""
        return None if self.n < 2 else 100 * (self.high - self.low) / self.mean

    @property
    def beside(self) -> str:
        """Write the other middles, for readers who compare with other reports."""
        return f"median {self.median:,.1f}, arithmetic mean {self.arithmetic_mean:,.1f}"

    @property
    def digits(self) -> int:
        """Return how many significant digits are worth reading: 4 where repeats agree within 1%, otherwise 3."""
        return 4 if self.n >= 2 and 100 * (self.highest - self.lowest) <= self.mean else 3


def summarise(values: Sequence[float]) -> Spread:
    """Sum up repeats. Raises ValueError for none, and for what is no positive finite number."""
    return _summary(tuple(values))


# A page asks for the same repeats again and again, and the exact sums of `statistics` take their time.
@lru_cache(maxsize=4096)
def _summary(values: tuple[float, ...]) -> Spread:
    if not values:
        raise ValueError("There is no value to sum up.")
    if bad := [value for value in values if not (math.isfinite(value) and value > 0)]:
        raise ValueError(f"{bad[0]} is not a throughput: it must be a positive, finite number.")
    return Spread(
        n=len(values),
        mean=geometric_mean(values),
        median=statistics.median(values),
        arithmetic_mean=statistics.fmean(values),
        lowest=min(values),
        highest=max(values),
        interval=_interval(values) if len(values) >= FEWEST_FOR_INTERVAL else None,
        sd=sample_sd(values) if len(values) > 1 else None,
    )


def _interval(values: Sequence[float]) -> Interval | None:
    """Return mean +- t x s / sqrt(n) of the logarithms, with Student's t for n - 1 degrees of freedom, as numbers.

    None where it is wider than WIDEST: the range says more then.
    """
    variance = sample_variance([math.log(value) for value in values])
    factor = math.exp(min(t_quantile(len(values) - 1) * math.sqrt(variance / len(values)), math.log(2 * WIDEST)))
    mean = geometric_mean(values)
    return Interval(mean / factor, mean * factor) if factor <= WIDEST else None


def log_mean(values: Sequence[float]) -> float:
    """Return the mean of the logarithms, the same in any order of the values."""
    return math.fsum(map(math.log, values)) / len(values)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean; of values that are all the same it is that value, to the last digit.

    It is rounded to DIGITS: what is left are traces of logarithms, which must not carry a cent when a price is rounded.
    """
    lowest, highest = min(values), max(values)
    mean = round_significant(math.exp(log_mean(values)), DIGITS)
    return lowest if lowest == highest else min(max(mean, lowest), highest)


def sample_variance(values: Sequence[float]) -> float:
    """Return the sample variance of two values or more; 0 where all are equal.

    About the first value and with one rounding of each sum, which loses no digit that matters: `statistics` takes exact
    fractions for it, and pages of many curves ask for thousands.
    """
    differences = [value - values[0] for value in values]
    mean = math.fsum(differences) / len(differences)
    return math.fsum((difference - mean) ** 2 for difference in differences) / (len(differences) - 1)


def sample_sd(values: Sequence[float]) -> float:
    """Return the sample standard deviation of two positive values or more, of whatever size; 0 where all are equal."""
    highest = max(values)
    return highest * math.sqrt(sample_variance([value / highest for value in values]))
