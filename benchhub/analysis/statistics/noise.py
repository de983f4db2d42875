"""Estimate the noise of a host: how far equal runs lie apart, and how many repeats a difference needs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from .spread import FEWEST_FOR_INTERVAL
from .student import t_quantile

POWER = 0.8
DIFFERENCE_PERCENT = 3.0
MOST_REPEATS = 1000
FEWEST_DEGREES = 4
# Repeats of one system under one protocol at one level, by the experiment (block) they were run in.
Blocks = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """`percent` is the standard deviation of one run among its repeats, from `degrees` degrees of freedom.

    `between_percent` is what the mean of a block (an experiment) scatters by beyond that, when the same was measured
    again in another one (A/A), from `block_degrees`; None where nothing was.
    """

    percent: float
    degrees: int
    between_percent: float | None
    block_degrees: int

    def difference_percent(self, repeats: int) -> float:
        """Return the difference that experiments of equal systems with so many repeats exceed in 5 of 100 cases."""
        between = self.between_percent or 0.0
        return t_quantile(self.degrees) * math.sqrt(2 * (between**2 + self.percent**2 / repeats))


def floor(groups: Sequence[Blocks]) -> NoiseFloor | None:
    """Return the noise over groups, each of one system, protocol and level. None with fewer than 4 degrees of freedom.

    One-way analysis of variance of the logarithms, pooled over the groups.
    """
    logs = [[[math.log(value) for value in block] for block in blocks if block] for blocks in groups]
    degrees = sum(len(block) - 1 for blocks in logs for block in blocks)
    if degrees < FEWEST_DEGREES:
        return None
    within = sum(_squares(block) for blocks in logs for block in blocks) / degrees
    repeated_groups = [blocks for blocks in logs if len(blocks) > 1]
    between = _between(repeated_groups, within) if repeated_groups else None
    block_degrees = sum(len(blocks) - 1 for blocks in repeated_groups)
    return NoiseFloor(_percent(within), degrees, None if between is None else _percent(between), block_degrees)


def _between(groups: Sequence[Blocks], within: float) -> float:
    """Return the variance between blocks: how far their mean square lies above that of repeats, per repeat."""
    squares = sum(_between_squares(blocks) for blocks in groups)
    degrees = sum(len(blocks) - 1 for blocks in groups)
    sizes = sum(_usual_size(blocks) * (len(blocks) - 1) for blocks in groups) / degrees
    return max(0.0, (squares / degrees - within) / sizes)


def _between_squares(blocks: Blocks) -> float:
    mean = statistics.fmean(value for block in blocks for value in block)
    return sum(len(block) * (statistics.fmean(block) - mean) ** 2 for block in blocks)


def _usual_size(blocks: Blocks) -> float:
    total = sum(map(len, blocks))
    return (total - sum(len(block) ** 2 for block in blocks) / total) / (len(blocks) - 1)


def _squares(values: Sequence[float]) -> float:
    mean = statistics.fmean(values)
    return sum((value - mean) ** 2 for value in values)


def _percent(variance_of_logs: float) -> float:
    return 100 * math.sqrt(variance_of_logs)


def repeats_needed(percent: float, difference_percent: float = DIFFERENCE_PERCENT) -> int | None:
    """Return the repeats that each side needs for a test at 5% to see this difference in 80 of 100 cases.

    None beyond a thousand. `percent` is the standard deviation of one run. By the shifted t distribution, at most one
    repeat off.
    """
    difference = 100 * math.log1p(difference_percent / 100)
    for repeats in range(FEWEST_FOR_INTERVAL, MOST_REPEATS + 1):
        degrees = 2 * repeats - 2
        needed = t_quantile(degrees) + t_quantile(degrees, 2 * POWER - 1)
        if difference >= needed * percent * math.sqrt(2 / repeats):
            return repeats
    return None
