"""Estimate the peak of a curve without the upward bias of picking the best of many, and the levels that could be it.

The best of several noisy means is on average too high: its noise helped to choose it. Here each repeat is counted at
the level that the *other* repeats choose (cross-fitting), so that no run helps to choose itself. Student's interval
over the repeats would be too narrow, because the choices depend on each other (`benchmarks/coverage.py`): the interval
asks instead how high the true means of all levels that could be the peak can be.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL, sample_variance
from benchhub.analysis.statistics.student import CONFIDENCE, t_quantile

from .curve import Curve

METHOD = (
    "each repeat counted at the level that the other repeats choose; interval over all levels that could be the peak, "
    "by Student's t with Bonferroni's correction at its lower end"
)
RATIO_METHOD = f"{METHOD}; the intervals of the two peaks combined as Zou and Donner (2008) do"
Levels = Mapping[int, Sequence[float]]


@dataclass(frozen=True, slots=True)
class SelectedPeak:
    """Throughput at the best level with an interval of at least 95%, in the unit of the levels.

    `selected_clients` is the level that each repeat was counted at; `candidates` are the levels that could be the best.
    """

    value: float
    low: float
    high: float
    selected_clients: tuple[int, ...]
    candidates: tuple[int, ...]
    n: int


@dataclass(frozen=True, slots=True)
class PeakRatio:
    """The ratio of two peaks with an interval of at least 95%."""

    value: float
    low: float
    high: float

    @property
    def tells_apart(self) -> bool:
        return not self.low <= 1 <= self.high


def selected(levels: Levels) -> SelectedPeak | None:
    """Return the peak over clients -> repeats. None if a level has fewer than three, or repeats do not scatter.

    Of levels with different numbers of repeats only as many are used as the one with the fewest has.
    """
    n = min((len(values) for values in levels.values()), default=0)
    logs = {clients: [math.log(value) for value in values[:n]] for clients, values in levels.items()}
    pooled = _pooled(logs) if n >= FEWEST_FOR_INTERVAL else None
    if pooled is None:
        return None
    selected_clients = tuple(_best_without(logs, repeat) for repeat in range(n))
    value = statistics.fmean(logs[clients][repeat] for repeat, clients in enumerate(selected_clients))
    candidates = _candidates(logs, pooled, CONFIDENCE)
    low, high = _bounds({clients: logs[clients] for clients in candidates}, pooled)
    return SelectedPeak(
        math.exp(value), math.exp(min(low, value)), math.exp(max(high, value)), selected_clients, candidates, n
    )


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
    logs = {clients: [math.log(value) for value in values] for clients, values in levels.items()}
    pooled = _pooled(logs)
    return tuple(sorted(levels)) if pooled is None else _candidates(logs, pooled, confidence)


def _candidates(logs: Levels, pooled: tuple[float, int], confidence: float) -> tuple[int, ...]:
    if len(logs) < 2:
        return tuple(logs)
    variance, degrees = pooled
    means = {clients: statistics.fmean(values) for clients, values in logs.items()}
    best = max(means, key=lambda clients: means[clients])
    t = t_quantile(degrees, 1 - 2 * (1 - confidence) / len(logs))
    return tuple(
        clients
        for clients, values in sorted(logs.items())
        if means[best] - means[clients] <= t * math.sqrt(variance * (1 / len(values) + 1 / len(logs[best])))
    )


def _bounds(logs: Levels, pooled: tuple[float, int]) -> tuple[float, float]:
    """Return the lowest and the highest value that the best of these true means can have.

    It is as high as each of them, so that each one's lower end bounds it: of several the highest, corrected for their
    number. It can only lie above the highest upper end if its own level does, which needs no correction. The scatter
    is that of these levels alone, because others may scatter less.
    """
    variance, degrees = _pooled(logs) or pooled
    error = math.sqrt(variance / min(map(len, logs.values())))
    best = max(statistics.fmean(values) for values in logs.values())
    low = best - t_quantile(degrees, 1 - (1 - CONFIDENCE) / len(logs)) * error
    return low, best + t_quantile(degrees) * error


def _best_without(logs: Levels, repeat: int) -> int:
    """Return the level with the highest mean of the other repeats; of equals the one with fewer clients."""
    return max(logs, key=lambda clients: (sum(logs[clients]) - logs[clients][repeat], -clients))


def _pooled(logs: Levels) -> tuple[float, int] | None:
    """Return the variance of one logarithm with its degrees of freedom; None without repeats or scatter."""
    repeated = [values for values in logs.values() if len(values) > 1]
    degrees = sum(len(values) - 1 for values in repeated)
    squares = sum((len(values) - 1) * sample_variance(values) for values in repeated)
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
