"""Find what in sysbench's report contradicts itself: counts and their rates, and counts that are printed twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from runners.contract import Doubt, Measure

RATED = re.compile(r"^ {1,8}([a-z ]{1,30}): +(\d{1,15}) +\((\d{1,12}\.\d\d) per sec\.\)$", re.MULTILINE)
EVENTS = re.compile(r"^ +total number of events: +(\d{1,15})$", re.MULTILINE)
QUERIES = re.compile(r"^ +(?:read|write|other|total): +(\d{1,15})$", re.MULTILINE)
# The report of a rate is of a moment before the total time.
RATE_TOLERANCE, RATE_ROUNDING = 0.002, 0.006


def doubts(text: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt for each count that does not agree with another one or with its rate."""
    lasted_s = measures["measured_s"].value if "measured_s" in measures else 0.0
    for name, count, rate in RATED.findall(text) if lasted_s else ():
        expected = int(count) / lasted_s
        if abs(expected - float(rate)) > RATE_TOLERANCE * expected + RATE_ROUNDING:
            yield Doubt(
                "rate", f"{int(count):,} {name} in {lasted_s:,.4g} s are {expected:,.2f} per second, not {rate}."
            )
    yield from _twice("events", EVENTS.findall(text)[:1], "transactions", measures)
    queries = [int(number) for number in QUERIES.findall(text)]
    if len(queries) == 4:
        yield from _twice("queries by kind", [sum(queries[:3])], "queries", measures)
        yield from _twice("queries together", queries[3:], "queries", measures)


def _twice(name: str, counts: list[int] | list[str], measure: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    for count in counts:
        if measure in measures and int(count) != measures[measure].value:
            yield Doubt("count", f"{int(count):,} {name}, but {measures[measure].value:,.0f} {measure} are printed.")
