"""Tell whether runs are as independent as intervals assume: whether each resembles the one before, or a few stalled.

Both look at a whole curve at once, since a level has too few repeats to show either.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise

from benchhub.analysis.words import count

from . import drift
from .drift import Start
from .outliers import FAR, NORMAL_PER_MEDIAN
from .spread import FEWEST_FOR_INTERVAL

RESEMBLES = (
    "each run resembles the one before it, so that repeats may share a state of the host that passes, and an interval "
    "that takes them for independent is too narrow"
)
MISSING = "rare runs like it may be missing where none was seen"
# The normal quantile that independent runs exceed in 5% of curves. Residuals of a level add up to 0, which makes
# neighbours a little less alike than chance: the limit is on the safe side.
CHANCE_QUANTILE = 1.645
FEWEST_RUNS = 12
LEAST_SCATTER = 1e-9
STALL_SHARE = 0.2


def autocorrelation(starts: Sequence[Start]) -> tuple[float, int] | None:
    """Return how much each run resembles the one before it (lag 1, from -1 to 1), and of how many runs.

    It is that of logarithms around the means of their levels, less a straight line: a steady drift is told elsewhere,
    and does no harm to runs in turns. None below FEWEST_RUNS, without scatter, and where starts do not tell an order.
    """
    levels: dict[int, list[Start]] = {}
    for start in starts:
        levels.setdefault(start.clients, []).append(start)
    repeated = [runs for runs in levels.values() if len(runs) >= FEWEST_FOR_INTERVAL]
    ordered = sorted((run for runs in repeated for run in runs), key=lambda run: run.at_s)
    if len(ordered) < FEWEST_RUNS or not _has_order(ordered):
        return None
    rest = _without_line(_around_means(repeated))
    squares = math.fsum(value * value for value in rest)
    if squares < LEAST_SCATTER**2 * len(rest):
        return None
    return math.fsum(value * following for value, following in pairwise(rest)) / squares, len(rest)


def _has_order(ordered: Sequence[Start]) -> bool:
    """Tell whether no two runs began at once, as days without a time of day would have it, and none ran beside."""
    return len({run.at_s for run in ordered}) == len(ordered) and drift.ran_in_sequence(ordered)


def resembles(starts: Sequence[Start]) -> bool:
    """Tell whether the runs of a curve resemble the one before them more than those of 19 in 20 quiet curves do."""
    measured = autocorrelation(starts)
    return measured is not None and measured[0] > CHANCE_QUANTILE / math.sqrt(measured[1])


def stalls(levels: Sequence[Sequence[float]]) -> list[float]:
    """Return by which share each stalled run lies below the median of its repeats, the deepest first.

    One is a stall if it lies STALL_SHARE below, and FAR times further off than the repeats of all levels usually do.
    """
    repeated = [values for values in levels if len(values) >= FEWEST_FOR_INTERVAL]
    distances = [math.log(value / statistics.median(values)) for values in repeated for value in values]
    nonzero = [abs(distance) for distance in distances if distance]
    if not nonzero:
        return []
    limit = max(FAR * NORMAL_PER_MEDIAN * statistics.median(nonzero), -math.log1p(-STALL_SHARE))
    return [-math.expm1(distance) for distance in sorted(distances) if distance < -limit]


def stalls_text(levels: Sequence[Sequence[float]]) -> str:
    """Say which runs stalled, as the reason why there is no interval; empty if none did."""
    shares = stalls(levels)
    if not shares:
        return ""
    runs = sum(len(values) for values in levels if len(values) >= FEWEST_FOR_INTERVAL)
    if len(shares) == 1:
        return f"1 of {count(runs, 'run')} is {shares[0]:.0%} below its repeats: a stall, and {MISSING}"
    return (
        f"{len(shares)} of {count(runs, 'run')} are {shares[-1]:.0%} to {shares[0]:.0%} below their repeats: stalls, "
        f"and {MISSING}"
    )


def _around_means(levels: Sequence[Sequence[Start]]) -> list[tuple[float, float]]:
    """Return the seconds and logarithms of runs, each less the mean of its level, in the order they ran."""
    rows = []
    for runs in levels:
        mean_s = statistics.fmean(run.at_s for run in runs)
        mean = statistics.fmean(math.log(run.throughput) for run in runs)
        rows += [(run.at_s, run.at_s - mean_s, math.log(run.throughput) - mean) for run in runs]
    return [(seconds, log) for _, seconds, log in sorted(rows)]


def _without_line(residuals: Sequence[tuple[float, float]]) -> list[float]:
    squares = math.fsum(seconds * seconds for seconds, _ in residuals)
    slope = math.fsum(seconds * log for seconds, log in residuals) / squares
    return [log - slope * seconds for seconds, log in residuals]


def assumption_text(runs: int) -> str:
    """Say what an interval takes for granted, and how little of it so many runs of a curve can show.

    A stall in a share p of runs is in none of n with a probability of (1 - p)^n; told is the p for which that is 5%.
    """
    share = 1 - 0.05 ** (1 / runs)
    return (
        "Intervals assume that no run resembles the one before it, and that none stalls: "
        f"{count(runs, 'run')} would not show a stall in {share:.0%} of runs once in 20 times."
    )
