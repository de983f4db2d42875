"""Check sysbench's reports of progress against its transactions, by when each report can have come.

A report is never early: it comes when its interval has ended, or later by less than the half second to which its time
is printed, and before the end of the run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from runners.contract import Doubt, Measure
from runners.tools import gaps

from . import report

INTERVAL = re.compile(r"^Report intermediate results every (\d{1,9}) second\(s\)$", re.MULTILINE)
RATED = re.compile(r"^Target transaction rate:", re.MULTILINE)
# How much later than due a report may come, and after the end of the run.
LATEST_S, AFTER_END_S = 0.5, 0.05
# Reports print rates to two decimals; counters are read while they are written.
RATE_ROUNDING, COUNT_SHARE = 0.006, 0.01
# Half of the last decimal of a latency.
LATENCY_ROUNDING_MS = 0.005
# How long the thread that reports may wait for a processor.
STARVED_S = 4.0
# So many reports show their interval, and so many are not all late.
FEW_REPORTS, MANY_REPORTS = 3, 6


def doubts(text: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where reports are missing, or come to another number of transactions than the report counts."""
    lines = report.intervals(text)
    yield from _early_doubts(text, [at_s for at_s, _ in lines])
    needed = ("transactions", "measured_s", "reported_clients", "latency_min_ms", "latency_max_ms")
    is_of_all = not report.WARMUP.search(text) and not report.has_checkpoints(text)
    if not lines or not is_of_all or not all(name in measures for name in needed):
        return
    values = {name: measures[name].value for name in needed}
    times_s = [at_s for at_s, _ in lines]
    yield from _interval_doubts(text, times_s)
    if not RATED.search(text):
        yield from _end_doubts(times_s, values)
    rates = [float(line["tps"]) for _, line in lines if line]
    if _are_due(text, times_s) and len(rates) == len(lines):
        yield from _count_doubts(times_s, rates, values)


def _early_doubts(text: str, times_s: Sequence[float]) -> Iterator[Doubt]:
    """Yield a doubt about the first report that is before its interval ended: each is due one interval after another,
    from the end of a warm-up on.
    """
    interval = INTERVAL.search(text)
    due = ((at_s, place * int(interval[1])) for place, at_s in enumerate(times_s, start=1)) if interval else ()
    for at_s, due_s in due:
        if at_s < due_s:
            yield Doubt("progress", f"A report of progress is of {at_s:,.4g} s, but was not due before {due_s:,} s.")
            return


def _are_due(text: str, times_s: Sequence[float]) -> bool:
    """Tell whether each report came when its interval had ended: a single one may have come late by any time."""
    interval = INTERVAL.search(text)
    is_first_due = times_s[0] == int(interval[1]) if interval else len(times_s) >= FEW_REPORTS
    return is_first_due and gaps.are_punctual(times_s)


def _interval_doubts(text: str, times_s: Sequence[float]) -> Iterator[Doubt]:
    """Yield a doubt where none of many reports comes as soon after another as was asked for."""
    interval = INTERVAL.search(text)
    steps_s = [after_s - before_s for before_s, after_s in pairwise([0.0, *times_s])]
    if interval and len(steps_s) >= MANY_REPORTS and min(steps_s) > int(interval[1]):
        yield Doubt(
            "progress",
            f"Its reports of progress are {min(steps_s):,.0f} s apart or more, {interval[1]} s were asked for: "
            "some are missing.",
        )


def _end_doubts(times_s: Sequence[float], values: Mapping[str, float]) -> Iterator[Doubt]:
    """Yield a doubt where reports are missing at the end: no transaction took as long as that, so nothing stood still.

    A last interval that is not whole has no report.
    """
    interval_s, lasted_s = max(times_s[0], gaps.reports_interval_s(times_s)), values["measured_s"]
    if lasted_s > times_s[-1] + interval_s + values["latency_max_ms"] / 1000 + STARVED_S:
        yield Doubt(
            "progress",
            f"The last report of progress is of {times_s[-1]:,.0f} s, although the run lasted {lasted_s:,.4g} s and no "
            "transaction took that long.",
        )


def _count_doubts(times_s: Sequence[float], rates: Sequence[float], values: Mapping[str, float]) -> Iterator[Doubt]:
    """Yield a doubt where the reports have more transactions than the run, or what they leave cannot be its end's.

    A late report moves the end of its interval, and so only the difference between its rate and the next one.
    """
    count, threads, left_s = values["transactions"], values["reported_clients"], values["measured_s"] - times_s[-1]
    reported = times_s[0] * sum(rates)
    room = RATE_ROUNDING * times_s[-1] + threads + COUNT_SHARE * count
    rises = sum(max(0.0, after - rate) for rate, after in pairwise(rates))
    falls = sum(max(0.0, rate - after) for rate, after in pairwise(rates))
    late_s = min(LATEST_S, max(0.0, left_s) + AFTER_END_S)
    most = reported + LATEST_S * falls + late_s * rates[-1] + _most_after(left_s, threads, values["latency_min_ms"])
    if reported - LATEST_S * rises - room <= count <= most + room:
        return
    yield Doubt(
        "progress",
        f"The reports of progress come to {reported:,.0f} transactions in {times_s[-1]:,.0f} s, but {count:,.0f} were "
        f"counted in {values['measured_s']:,.4g} s.",
    )


def _most_after(left_s: float, threads: float, shortest_ms: float) -> float:
    """Return how many transactions may have ended after the last report: one of each thread, and as quick as any."""
    if left_s <= 0:
        return threads
    least_ms = shortest_ms - LATENCY_ROUNDING_MS
    return threads * (1 + 1000 * left_s / least_ms) if least_ms > 0 else math.inf
