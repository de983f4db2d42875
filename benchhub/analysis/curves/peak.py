"""Estimate the peak of a curve: its best level, with an interval over all levels that could be the peak.

The peak is the geometric mean of the level where that is highest, as in chart, table and price. Noise helped to choose
it, so that it is too high by chance where several levels are alike. The interval allows for that: it asks how high the
true means of all levels that could be the peak can be (`benchmarks/coverage.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL, geometric_mean, log_mean, sample_variance
from benchhub.analysis.statistics.student import CONFIDENCE, t_quantile

from .curve import Curve
from .ratio import by_interval

METHOD = (
    "geometric mean of the best level; interval over all levels that could be the peak, by Student's t with "
    "Bonferroni's correction at its lower end, as the best of several is too high by chance"
)
RATIO_METHOD = f"{METHOD}; the intervals of the two peaks combined as Zou and Donner (2008) do"
Levels = Mapping[int, Sequence[float]]


@dataclass(frozen=True, slots=True)
class SelectedPeak:
    """Throughput at the best level with an interval of at least 95%, in the unit of the levels.

    `clients` is the best level, of `n` repeats; `candidates` are the levels that could be the best.
    """

    value: float
    low: float
    high: float
    clients: int
    candidates: tuple[int, ...]
    n: int


@dataclass(frozen=True, slots=True)
class PeakRatio:
    """The ratio of two peaks with an interval of at least 95%."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        return by_interval(self.value, self.low, self.high)


def selected(levels: Levels) -> SelectedPeak | None:
    """Return the peak over clients -> repeats. None if a level has fewer than three, or repeats do not scatter."""
    return _selected(tuple((clients, tuple(values)) for clients, values in levels.items()))


# A page asks for the peak of a curve against each of the others.
@lru_cache(maxsize=256)
def _selected(repeats: tuple[tuple[int, tuple[float, ...]], ...]) -> SelectedPeak | None:
    levels = dict(repeats)
    fewest = min((len(values) for values in levels.values()), default=0)
    pooled = _pooled(levels) if fewest >= FEWEST_FOR_INTERVAL else None
    if pooled is None:
        return None
    best = best_level(levels)
    candidates = _candidates(levels, pooled, CONFIDENCE)
    low, high = _bounds({clients: levels[clients] for clients in candidates}, pooled)
    value = geometric_mean(levels[best])
    return SelectedPeak(
        value, min(math.exp(low), value), max(math.exp(high), value), best, candidates, len(levels[best])
    )


def best_level(levels: Levels) -> int:
    """Return the level with the highest geometric mean; of equals the one with the fewest clients."""
    return max(levels, key=lambda clients: (geometric_mean(levels[clients]), -clients))


def ratio(peak: SelectedPeak, baseline: SelectedPeak) -> PeakRatio:
    """Return the ratio of two peaks with an interval.

    The distances to its ends are those of the two peaks' intervals, put at right angles on the logarithmic scale.
    """
    difference = math.log(peak.value / baseline.value)
    down = math.hypot(math.log(peak.value / peak.low), math.log(baseline.high / baseline.value))
    up = math.hypot(math.log(peak.high / peak.value), math.log(baseline.value / baseline.low))
    return PeakRatio(math.exp(difference), math.exp(difference - down), math.exp(difference + up))


def candidates(levels: Levels, confidence: float = CONFIDENCE) -> tuple[int, ...]:
    """Return the levels that could have the highest true mean; with this confidence the one that has it is among them.

    A level is ruled out where the best mean lies above it by more than a one-sided t, corrected for the number of
    levels (Bonferroni), allows. The scatter of logarithms is pooled over the levels with repeats.
    """
    pooled = _pooled(levels)
    return tuple(sorted(levels)) if pooled is None else _candidates(levels, pooled, confidence)


def _candidates(levels: Levels, pooled: tuple[float, int], confidence: float) -> tuple[int, ...]:
    if len(levels) < 2:
        return tuple(levels)
    variance, degrees = pooled
    best = best_level(levels)
    highest, t = log_mean(levels[best]), t_quantile(degrees, 1 - 2 * (1 - confidence) / len(levels))
    return tuple(
        clients
        for clients, values in sorted(levels.items())
        if highest - log_mean(values) <= t * math.sqrt(variance * (1 / len(values) + 1 / len(levels[best])))
    )


def _bounds(levels: Levels, pooled: tuple[float, int]) -> tuple[float, float]:
    """Return the lowest and the highest logarithm that the best of these true means can have.

    It is as high as each of them, so that each one's lower end bounds it: of several the highest, corrected for their
    number. It can only lie above the highest upper end if its own level does, which needs no correction. The scatter
    is that of these levels alone, because others may scatter less.
    """
    variance, degrees = _pooled(levels) or pooled
    means = [(log_mean(values), math.sqrt(variance / len(values))) for values in levels.values()]
    t, t_of_several = t_quantile(degrees), t_quantile(degrees, 1 - (1 - CONFIDENCE) / len(levels))
    return max(mean - t_of_several * error for mean, error in means), max(mean + t * error for mean, error in means)


def _pooled(levels: Levels) -> tuple[float, int] | None:
    """Return the variance of one logarithm with its degrees of freedom; None without repeats or scatter."""
    repeated = [[math.log(value) for value in values] for values in levels.values() if len(values) > 1]
    degrees = sum(len(logs) - 1 for logs in repeated)
    squares = sum((len(logs) - 1) * sample_variance(logs) for logs in repeated)
    return (squares / degrees, degrees) if squares else None


def under_ceiling(curve: Curve, ceiling_ms: float) -> Levels:
    """Return clients -> repeats of the levels whose every repeat kept its average latency (ms) at or below the ceiling.

    Averages only: in a closed loop clients wait for their turn, so that its percentiles are no promise to anybody.
    """
    return {
        level.clients: level.values
        for level in curve.levels
        if all(run.latency_average_ms is not None and run.latency_average_ms <= ceiling_ms for run in level.runs)
    }


def of_curve(curve: Curve) -> Levels:
    return {level.clients: level.values for level in curve.levels}


def edge(levels: Levels, peak_clients: Sequence[int]) -> str:
    """Say where the peak may lie beyond what was run: '', 'lowest', 'highest', 'both' ends, or 'only' one level."""
    if len(levels) == 1:
        return "only"
    ends = [name for name, end in (("lowest", min(levels)), ("highest", max(levels))) if end in peak_clients]
    return "both" if len(ends) == 2 else "".join(ends)
