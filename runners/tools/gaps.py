"""Spread reports of progress over the seconds that they are about.

A report that comes late is about all the time since the one before it. Where several are missing, as in a text that
somebody shortened, the seconds of the missing ones have no value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from runners.contract import Measure

# A report is late by less than so many intervals, or not by whole ones.
MOST_LATE, ON_TIME_S = 3, 0.05
# While a machine stands still, no more ends than in the interval before and at its end.
MOST_STALLED, FEW_TRANSACTIONS = 2, 10
# Between reports that are on time, printed to a tenth.
WHOLE_S = 0.15

Columns = Mapping[str, Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class Span:
    """The whole seconds since the report before, and how many of them, the last ones, this report is about."""

    passed_s: int
    known_s: int


@dataclass(frozen=True, slots=True)
class Report:
    """A report of progress: the second of the run at its end, and its values by metric if it is about so many."""

    at_s: float
    values: Callable[[int], Mapping[str, float]]


def spans(times_s: Sequence[float], tps: Sequence[float]) -> Iterator[Span]:
    """Yield the span of each report, by the seconds of the run at their ends and the rates that they say.

    After a stall a report may be on time by chance, but then few transactions ended since the one before.
    """
    passed_s, interval_s = 0, reports_interval_s([0.0, *times_s])
    steps_s = [round(after_s) - round(before_s) for before_s, after_s in pairwise([0.0, *times_s])]
    peak_tps = max((rate for step_s, rate in zip(steps_s, tps, strict=True) if step_s <= interval_s), default=0.0)
    most_stalled = MOST_STALLED * interval_s * peak_tps + FEW_TRANSACTIONS
    for at_s, rate in zip(times_s, tps, strict=True):
        since_s = max(0, round(at_s) - passed_s)
        is_on_time = abs(at_s - interval_s * round(at_s / interval_s)) < ON_TIME_S
        is_after_gap = is_on_time and since_s >= MOST_LATE * interval_s and rate * since_s > most_stalled
        yield Span(since_s, interval_s if is_after_gap else since_s)
        passed_s += since_s


def are_punctual(times_s: Sequence[float]) -> bool:
    """Tell whether each report came an interval after the one before, so that whole seconds are about it alone."""
    steps_s = [after_s - before_s for before_s, after_s in pairwise([0.0, *times_s])]
    return all(abs(step_s - round(times_s[0])) < WHOLE_S for step_s in steps_s)


def reports_interval_s(times_s: Sequence[float]) -> int:
    """Return the whole seconds between reports: those most often between two of them.

    A report that comes late is not whole seconds after the one before it, unless times are printed without decimals.
    Where all are late, none is early: the interval is at most the time up to each, by how many there were.
    """
    steps_s = [after_s - before_s for before_s, after_s in pairwise(times_s)]
    whole = Counter(round(step_s) for step_s in steps_s if abs(step_s - round(step_s)) < WHOLE_S and round(step_s))
    if whole:
        return min(whole, key=lambda step_s: (-whole[step_s], step_s))
    longest_s = [(at_s - times_s[0]) / place for place, at_s in enumerate(times_s[1:], start=1)]
    return max(1, math.floor(min(longest_s, default=1.0)))


def interval_measures(times_s: Sequence[float]) -> dict[str, Measure]:
    """Return the seconds between reports as a measure, by which values that are alike are told from one that lasted."""
    return {"report_interval_s": Measure(reports_interval_s([0.0, *times_s]), "s")} if times_s else {}


def columns(reports: Sequence[Report]) -> dict[str, list[float | None]]:
    """Return the values of each metric, one for each second; None where the report of a second is missing."""
    columns: dict[str, list[float | None]] = {}
    filled_s = 0
    rates = [report.values(1)["tps"] for report in reports]
    for report, span in zip(reports, spans([report.at_s for report in reports], rates), strict=True):
        for metric, value in report.values(span.known_s).items() if span.known_s else ():
            if metric not in columns:
                columns[metric] = [0.0] * filled_s
            columns[metric] += [None] * (span.passed_s - span.known_s) + [value] * span.known_s
        filled_s += span.passed_s
    return columns


def remarks(columns: Columns) -> tuple[str, ...]:
    """Return a remark on the seconds that have no values; () where all have."""
    missing_s = next((sum(value is None for value in column) for column in columns.values()), 0)
    text = f"Reports of progress are missing: {missing_s:,} s have no values over time."
    return (text,) if missing_s else ()
