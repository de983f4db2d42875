"""Tell whether runs are as independent as intervals assume: whether each resembles the one before, or a few stalled.

Both look at a whole curve at once, since a level has too few repeats to show either.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from benchhub.analysis.words import count

from . import drift
from .drift import Start
from .outliers import FAR, NORMAL_PER_MEDIAN, log_distances
from .spread import FEWEST_FOR_INTERVAL

RESEMBLES = (
    "each run resembles the one before it, so that repeats may share a state of the host that passes, and an interval "
    "that takes them for independent is too narrow"
)
MISSING = "rare runs like it may be missing where none was seen"
# Standard deviations above what chance gives: 3% of curves of independent runs exceed it, of whatever design
# (`benchmarks/coverage.py`).
CHANCE_QUANTILE = 1.9
FEWEST_RUNS = 12
# Of curves with at least so many runs, at most this share does not show that each run keeps 0.9 from the one before;
# and the share of intervals that hold the truth in those that do not (`benchmarks/coverage.py` measures both).
UNSEEN_SHARES = ((40, 0.1), (24, 0.45), (FEWEST_RUNS, 0.75), (0, 1.0))
UNSEEN_HELD = 0.65
LEAST_SCATTER = 1e-9
STALL_SHARE = 0.2
# Values by their places in the order of time; what is not there is 0.
Vector = dict[int, float]


@dataclass(frozen=True, slots=True)
class Autocorrelation:
    """How much each run resembles the one before it: the correlation at lag 1, from -1 to 1, with the mean and the
    standard deviation that independent runs of the same design would have.
    """

    value: float
    chance_mean: float
    chance_sd: float

    @property
    def is_clear(self) -> bool:
        return self.value > self.chance_mean + CHANCE_QUANTILE * self.chance_sd


def autocorrelation(starts: Sequence[Start]) -> Autocorrelation | None:
    """Return how much each run resembles the one before it.

    It is that of logarithms around the means of their levels, less a straight line: a steady drift is told elsewhere,
    and does no harm to runs in turns. None below FEWEST_RUNS, without scatter, and where starts do not tell an order.
    """
    levels = [list(runs) for _, runs in groupby(sorted(starts, key=_by_clients), key=_by_clients)]
    ordered = sorted((run for runs in levels if len(runs) >= FEWEST_FOR_INTERVAL for run in runs), key=_by_time)
    if len(ordered) < FEWEST_RUNS or not _has_order(ordered):
        return None
    directions = _directions(ordered)
    rest = _without({place: math.log(run.throughput) for place, run in enumerate(ordered)}, directions)
    squares = _product(rest, rest)
    if squares < LEAST_SCATTER**2 * len(rest):
        return None
    return Autocorrelation(_product(rest, _beside(rest, len(rest))) / squares, *_chance(directions, len(rest)))


def _by_clients(run: Start) -> int:
    return run.clients


def _by_time(run: Start) -> float:
    return run.at_s


def _has_order(ordered: Sequence[Start]) -> bool:
    """Tell whether no two runs began at once, as days without a time of day would have it, and none ran beside."""
    return len({run.at_s for run in ordered}) == len(ordered) and drift.ran_in_sequence(ordered)


def resembles(starts: Sequence[Start]) -> bool:
    """Tell whether the runs of a curve resemble the one before them more than those of 29 in 30 quiet curves do."""
    measured = autocorrelation(starts)
    return measured is not None and measured.is_clear


def stalls(levels: Sequence[Sequence[float]]) -> list[float]:
    """Return by which share each stalled run lies below the median of its repeats, the deepest first.

    One is a stall if it lies STALL_SHARE below, and FAR times further off than the repeats of all levels usually do.
    """
    repeated = [values for values in levels if len(values) >= FEWEST_FOR_INTERVAL]
    distances = [distance for values in repeated for distance in log_distances(values)]
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


def _directions(ordered: Sequence[Start]) -> list[Vector]:
    """Return what is taken out of the logarithms, as vectors of length 1 at right angles: the mean of each level, and a
    straight line against time within levels.
    """
    places: dict[int, list[int]] = {}
    for place, run in enumerate(ordered):
        places.setdefault(run.clients, []).append(place)
    means: list[Vector] = [dict.fromkeys(own, 1 / math.sqrt(len(own))) for own in places.values()]
    line = _without({place: run.at_s - ordered[0].at_s for place, run in enumerate(ordered)}, means)
    length = math.sqrt(_product(line, line))
    return [*means, {place: value / length for place, value in line.items()}]


def _without(values: Vector, directions: Sequence[Vector]) -> Vector:
    """Return what is left of the values without their parts in these directions."""
    rest = dict(values)
    for direction in directions:
        part = _product(direction, values)
        for place, value in direction.items():
            rest[place] -= part * value
    return rest


def _chance(directions: Sequence[Vector], runs: int) -> tuple[float, float]:
    """Return mean and standard deviation of the correlation at lag 1 of so many independent normal values, without
    their parts in these directions: taking them out makes neighbours differ more than chance.

    With A the matrix of which x'Ax is the sum over neighbours, M the one that takes out, and d values that are left,
    the mean is tr(MA) / d, and the variance 2 (tr(MAMA) - tr(MA)^2 / d) / (d (d + 2)) (Durbin and Watson, 1950).
    """
    neighbours = [_beside(direction, runs) for direction in directions]
    inner = [[_product(direction, beside) for beside in neighbours] for direction in directions]
    left = runs - len(directions)
    trace = -math.fsum(row[place] for place, row in enumerate(inner))
    squares = math.fsum(value * value for row in inner for value in row)
    square_trace = (runs - 1) / 2 - 2 * math.fsum(_product(beside, beside) for beside in neighbours) + squares
    return trace / left, math.sqrt(2 * (square_trace - trace * trace / left) / (left * (left + 2)))


def _beside(values: Vector, runs: int) -> Vector:
    """Return half the sum of both neighbours at each place: times the values, that is the product of neighbours."""
    sums: Vector = {}
    for place, value in values.items():
        for neighbour in (place - 1, place + 1):
            if 0 <= neighbour < runs:
                sums[neighbour] = sums.get(neighbour, 0.0) + value / 2
    return sums


def _product(values: Vector, others: Vector) -> float:
    return math.fsum(value * others.get(place, 0.0) for place, value in values.items())


def assumption_text(runs: int) -> str:
    """Say what an interval takes for granted, and how little of it so many runs of a curve can show.

    A stall in a share p of runs is in none of n with a probability of (1 - p)^n; told is the p for which that is 5%.
    """
    stall_share = 1 - 0.05 ** (1 / runs)
    unseen_share = next(share for fewest, share in UNSEEN_SHARES if runs >= fewest)
    often_text = "always" if unseen_share == 1 else f"in up to {unseen_share:.0%} of curves"
    return (
        "Intervals assume that no run resembles the one before it, and that none stalls. "
        f"{count(runs, 'run')} can miss both: a stall in {stall_share:.0%} of runs once in 20 times, and a correlation "
        f"of 0.9 between neighbours {often_text}, where intervals hold the truth in {UNSEEN_HELD:.0%} in place of 95%."
    )
