"""Tell from time stamps, as intervals cannot, whether runs were taken in turns and whether throughput drifted.

Intervals take repeats for independent. Where one system ran after the other, or the repeats of a level in a row, what
changed meanwhile looks like a difference, and no interval is wide enough (`benchmarks/coverage.py`): none is shown.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from .spread import FEWEST_FOR_INTERVAL
from .student import t_outside

NOT_IN_TURNS = (
    "they were run one after the other, and whatever changed on the host meanwhile looks like a difference between them"
)
NOT_IN_TURNS_BRIEF = "they were not run in turns"
IN_A_ROW = "the repeats of each level were run in a row, so they share a state of the host that may pass"
REMEDY = "Run them in one experiment, repeat by repeat or at random."
# Of all pairs of a run of one side and a run of the other, the share with the same side first: a run that was done
# again later does not mend an order.
ONE_SIDE_FIRST = 0.9
FEWEST_DEGREES = 4
DRIFT_P = 0.01
DRIFT_PERCENT = 1.0


class Start(NamedTuple):
    """The start of a run of `duration_s`, with its clients and its throughput."""

    at_s: float
    duration_s: float
    clients: int
    throughput: float


@dataclass(frozen=True, slots=True)
class Drift:
    """Change of throughput from the first start to the last, the levels being equal; `p` of no drift."""

    percent: float
    p: float

    @property
    def is_clear(self) -> bool:
        return self.p < DRIFT_P and abs(self.percent) >= DRIFT_PERCENT


def one_after_the_other(starts: Sequence[Start], other: Sequence[Start]) -> bool:
    """Tell whether the order of the runs cannot tell a drift of the host from a difference between the two sides.

    So it is where one side as a whole ran first, and where one did at each of several levels that have repeats.
    """
    if _is_first(starts, other) or _is_first(other, starts):
        return True
    levels = {start.clients for start in starts} & {start.clients for start in other}
    sides = [
        ([s for s in starts if s.clients == clients], [s for s in other if s.clients == clients]) for clients in levels
    ]
    pairs = [pair for pair in sides if min(map(len, pair)) >= FEWEST_FOR_INTERVAL]
    return len(pairs) > 1 and all(_is_first(*pair) or _is_first(*pair[::-1]) for pair in pairs)


def _is_first(starts: Sequence[Start], others: Sequence[Start]) -> bool:
    """Tell whether nearly all runs of one side had begun before those of the other, by half a run at least."""
    starts_s = sorted(start.at_s for start in others)
    pairs_in_order = sum(len(starts_s) - bisect_left(starts_s, start.at_s + start.duration_s / 2) for start in starts)
    return bool(starts_s) and bool(starts) and pairs_in_order >= ONE_SIDE_FIRST * len(starts) * len(starts_s)


def repeats_in_a_row(starts: Sequence[Start]) -> bool:
    """Tell whether the repeats of each level ran next to each other, with nothing of another level in between."""
    ordered = sorted(starts, key=lambda start: start.at_s)
    if len({start.clients for start in ordered}) in (0, 1, len(ordered)) or not ran_in_sequence(ordered):
        return False
    return len(list(groupby(ordered, key=lambda start: start.clients))) == len({start.clients for start in ordered})


def ran_in_sequence(ordered: Sequence[Start]) -> bool:
    """Tell whether the runs followed each other. If they began closer together than they last, their order says
    nothing.
    """
    least_s = sum(start.duration_s for start in ordered[:-1]) / 2
    return ordered[-1].at_s - ordered[0].at_s >= least_s


def drift(starts: Sequence[Start]) -> Drift | None:
    """Fit a line through logarithms against time within levels; None if too few repeats are left to judge by."""
    levels: dict[int, list[Start]] = {}
    for start in starts:
        levels.setdefault(start.clients, []).append(start)
    times, logs = [], []
    for runs in levels.values():
        level_logs = [math.log(run.throughput) for run in runs]
        mean_s, mean_log = statistics.fmean(run.at_s for run in runs), statistics.fmean(level_logs)
        times += [run.at_s - mean_s for run in runs]
        logs += [value - mean_log for value in level_logs]
    degrees = len(starts) - len(levels) - 1
    squares = sum(time * time for time in times)
    if degrees < FEWEST_DEGREES or not squares:
        return None
    slope = sum(time * log for time, log in zip(times, logs, strict=True)) / squares
    residual = sum((log - slope * time) ** 2 for time, log in zip(times, logs, strict=True))
    span_s = max(start.at_s for start in starts) - min(start.at_s for start in starts)
    error = math.sqrt(residual / degrees / squares)
    return Drift(100 * math.expm1(slope * span_s), t_outside(slope / error, degrees) if error else 1.0)
