"""Repeats that lie far from the others: flagged, and kept in every figure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from .student import t_quantile

RULE = "Grubbs' test at 1%"
ALPHA = 0.01
FEWEST = 4


def outlier(values: Sequence[float]) -> int | None:
    """Place of the one value that is further from the mean than chance puts it in one of a hundred sets; else None.

    Grubbs (1969), two-sided: it holds its 1% at any number of repeats, which rules of thumb such as 1.5 quartile
    distances or 3 standard deviations do not: of 5 values none can lie 1.8 standard deviations away. With fewer than
    `FEWEST` nothing tells which one is odd. Two odd ones can hide each other.
    """
    if len(values) < FEWEST or not (sd := statistics.stdev(values)):
        return None
    mean = statistics.fmean(values)
    place = max(range(len(values)), key=lambda i: abs(values[i] - mean))
    return place if abs(values[place] - mean) / sd > critical(len(values)) else None


def critical(n: int, alpha: float = ALPHA) -> float:
    """The distance from the mean, in standard deviations, that the furthest of n normal values exceeds with alpha."""
    t = t_quantile(n - 2, 1 - alpha / n)
    return (n - 1) / math.sqrt(n) * math.sqrt(t * t / (n - 2 + t * t))
