"""Sum up repeated measurements: their range, from three on an interval of their mean, and the digits to show."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from .student import t_quantile

RANGE = "range of repeats"
INTERVAL = "95% interval of the mean"
FEWEST_FOR_INTERVAL = 3


@dataclass(frozen=True, slots=True)
class Interval:
    """The bounds of the mean of many such repeats with 95% confidence, if they scatter normally and independently."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Repeats of one measurement, in the unit they were measured in; fewer than three leave no interval, nor do
    repeats that lie so far apart that it would reach below 0.

    `sd` is the sample standard deviation, None for one value.
    `low` to `high` is what is shown beside the median, and `kind` says which of the two it is: the interval of the
    mean where there is one (it need not hold the median, nor the range), otherwise the range of repeats.
    """

    n: int
    mean: float
    median: float
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
        """Return the width of low..high in per cent of the median; None for one value, which has no spread."""
        return None if self.n < 2 else 100 * (self.high - self.low) / self.median

    @property
    def digits(self) -> int:
        """Return how many significant digits are worth reading: 4 where repeats agree within 1%, otherwise 3."""
        return 4 if self.n >= 2 and 100 * (self.highest - self.lowest) <= self.median else 3


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
        mean=statistics.fmean(values),
        median=statistics.median(values),
        lowest=min(values),
        highest=max(values),
        interval=_interval(values) if len(values) >= FEWEST_FOR_INTERVAL else None,
        sd=statistics.stdev(values) if len(values) > 1 else None,
    )


def _interval(values: Sequence[float]) -> Interval | None:
    """Return mean +- t x s / sqrt(n), with Student's t for n - 1 degrees of freedom.

    None where it would reach below 0: a throughput cannot, so repeats that scatter so far do not scatter normally.
    """
    mean = statistics.fmean(values)
    half = t_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(mean - half, mean + half) if half < mean else None


def sample_variance(values: Sequence[float]) -> float:
    """Return the sample variance of two values or more; 0 where all are equal.

    About the first value and with one rounding of each sum, which loses no digit that matters: `statistics` takes exact
    fractions for it, and pages of many curves ask for thousands.
    """
    differences = [value - values[0] for value in values]
    mean = math.fsum(differences) / len(differences)
    return math.fsum((difference - mean) ** 2 for difference in differences) / (len(differences) - 1)
