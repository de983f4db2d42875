"""Find repeats that lie far from the others: they are flagged, and kept in every figure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from .spread import sample_sd
from .student import t_quantile

RULE = "Grubbs' test at 1%"
ALPHA = 0.01
FEWEST = 4
FAR = 5.0
# A fifth below the median of its repeats: as far, a run of three is odd as well, although no test tells.
TOO_FAR_LOG = -math.log1p(-0.2)
NORMAL_PER_MEDIAN = 1.4826  # standard deviations in a median absolute deviation, of normal values
FAR_OFF = (
    "a run lies so far from its fellows that repeats do not scatter as an interval assumes, and rare runs like it may "
    "be missing where none was seen"
)


def outlier(values: Sequence[float]) -> int | None:
    """Return the index of the value that lies further from the mean than chance puts it in 99 of 100 sets, or None.

    Grubbs (1969), two-sided: it holds its 1% at any number of repeats, which rules of thumb such as 1.5 quartile
    distances or 3 standard deviations do not: of 5 values none can lie 1.8 standard deviations away. With fewer than
    `FEWEST` nothing tells which one is odd. Two odd ones can hide each other.
    """
    if len(values) < FEWEST or not (sd := sample_sd(values)):
        return None
    mean = statistics.fmean(values)
    index = max(range(len(values)), key=lambda i: abs(values[i] - mean))
    return index if abs(values[index] - mean) / sd > critical(len(values)) else None


def log_distances(values: Sequence[float]) -> list[float]:
    """Return how far each value lies from the median of all, as logarithms."""
    median = statistics.median(values)
    return [math.log(value / median) for value in values]


def is_far_off(levels: Sequence[Sequence[float]]) -> bool:
    """Tell whether a run lies FAR times further off than the repeats of all these levels usually do, and is the outlier
    of its level or TOO_FAR_LOG off.

    A level that has none such may only have been lucky: its interval is then too narrow (`benchmarks/coverage.py`).
    """
    distances_by_level = [[abs(distance) for distance in log_distances(values)] for values in levels]
    nonzero = [distance for distances in distances_by_level for distance in distances if distance]
    pairs = [(distances, outlier(values)) for distances, values in zip(distances_by_level, levels, strict=True)]
    far = [distances[index] for distances, index in pairs if index is not None]
    far += [max(distances) for distances in distances_by_level if max(distances) > TOO_FAR_LOG and len(distances) > 2]
    return bool(nonzero) and max(far, default=0.0) > FAR * NORMAL_PER_MEDIAN * statistics.median(nonzero)


def critical(n: int, alpha: float = ALPHA) -> float:
    """Return the distance from the mean, in standard deviations, that the furthest of n normal values exceeds with
    alpha.
    """
    t = t_quantile(n - 2, 1 - alpha / n)
    return (n - 1) / math.sqrt(n) * math.sqrt(t * t / (n - 2 + t * t))
