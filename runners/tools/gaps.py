"""Spread reports of progress over the seconds that they are about.

A report that comes late is about all the time since the one before it. Where several are missing, as in a text that
somebody shortened, the seconds of the missing ones have no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

# A report is late by less than so many intervals, or not by whole ones.
MOST_LATE, ON_TIME_S = 3, 0.05

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


def spans(times_s: Sequence[float]) -> Iterator[Span]:
    """Yield the span of each report, by the seconds of the run at their ends."""
    passed_s, interval_s = 0, _interval_s(times_s)
    for at_s in times_s:
        since_s = max(0, round(at_s) - passed_s)
        is_on_time = abs(at_s - interval_s * round(at_s / interval_s)) < ON_TIME_S
        is_after_gap = is_on_time and since_s >= MOST_LATE * interval_s
        yield Span(since_s, interval_s if is_after_gap else since_s)
        passed_s += since_s


def _interval_s(times_s: Sequence[float]) -> int:
    """Return the seconds between reports: the fewest between two of them, and of a single one those before it."""
    steps = [round(after_s) - round(before_s) for before_s, after_s in pairwise(times_s)]
    return min((step for step in steps if step >= 1), default=max(1, round(times_s[0]) if times_s else 1))


def columns(reports: Sequence[Report]) -> dict[str, list[float | None]]:
    """Return the values of each metric, one for each second; None where the report of a second is missing."""
    columns: dict[str, list[float | None]] = {}
    filled_s = 0
    for report, span in zip(reports, spans([report.at_s for report in reports]), strict=True):
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
