"""The spread of repeated measurements: their range, from three on an interval of their mean; and known digits."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

RANGE = "range of repeats"
INTERVAL = "95% interval of the mean"
CONFIDENCE = 0.95
FEWEST_FOR_INTERVAL = 3


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the mean of many such repeats lies with `CONFIDENCE`, if repeats scatter normally and independently."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Repeats of one measurement, in the unit they were measured in; fewer than three leave no interval, nor do
    repeats that lie so far apart that it would reach below 0.

    `low` to `high` is what is shown beside the median, and `kind` says which of the two it is: the interval of the
    mean where there is one (it need not hold the median, nor the range), otherwise the range of repeats.
    """

    n: int
    mean: float
    median: float
    lowest: float
    highest: float
    interval: Interval | None = None

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
        """Width of low..high in per cent of the median; None for one value, which has no spread."""
        return None if self.n < 2 else 100 * (self.high - self.low) / self.median

    @property
    def digits(self) -> int:
        """Significant digits worth reading: 4 where repeats agree within 1%, otherwise 3."""
        return 4 if self.n >= 2 and 100 * (self.highest - self.lowest) <= self.median else 3


def summarise(values: Sequence[float]) -> Spread:
    """Sum up repeats. Raises ValueError for none, and for what is no positive finite number."""
    return _summed(tuple(values))


# A page asks for the same repeats again and again, and the exact sums of `statistics` take their time.
@lru_cache(maxsize=4096)
def _summed(values: tuple[float, ...]) -> Spread:
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
    )


def _interval(values: Sequence[float]) -> Interval | None:
    """mean +- t x s / sqrt(n), with Student's t for n - 1 degrees of freedom.

    None where it would reach below 0: a throughput cannot, so repeats that scatter so far do not scatter normally.
    """
    mean = statistics.fmean(values)
    half = t_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(mean - half, mean + half) if half < mean else None


@cache
def t_quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """The t that a Student variable stays within, on both sides, with this confidence; by bisection."""
    if degrees < 1 or not 0 < confidence < 1:
        raise ValueError("A t quantile needs at least one degree of freedom and a confidence between 0 and 1.")
    low, high = 0.0, 1.0
    while t_within(high, degrees) < confidence:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if t_within(middle, degrees) < confidence else (low, middle)
    return high


def t_within(t: float, degrees: int) -> float:
    """P(-t < T < t) for whole degrees of freedom: Abramowitz and Stegun, 26.7.3 (odd) and 26.7.4 (even)."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine_squared = math.cos(angle) ** 2
    term, total = 1.0, 0.0
    for index in range(degrees // 2):
        total += term
        below = 2 * index + (2 if degrees % 2 else 1)
        term *= cosine_squared * below / (below + 1)
    if degrees % 2 == 0:
        return math.sin(angle) * total
    return 2 / math.pi * (angle + math.sin(angle) * math.cos(angle) * total)


def round_significant(value: float, digits: int) -> float:
    """Round to significant digits: 21,347.6 to three is 21,300."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))
