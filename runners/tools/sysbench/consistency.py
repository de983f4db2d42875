"""Find what in sysbench's report contradicts itself: counts and their rates, and counts that are printed twice."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from runners.contract import Doubt, Histogram, Measure
from runners.tools import gaps
from runners.tools.histogram import value_at_rank

from . import report

RATED = re.compile(r"^ {1,8}([a-z/ ]{1,30}): +(\d{1,15}) +\((\d{1,12}\.\d\d) per sec\.\)$", re.MULTILINE)
EVENTS = re.compile(r"^ +total number of events: +(\d{1,15})$", re.MULTILINE)
QUERIES = re.compile(r"^ +(?:read|write|other|total): +(\d{1,15})$", re.MULTILINE)
REQUESTS = re.compile(r"^ +(read/write requests|other operations): +(\d{1,15}) ", re.MULTILINE)
EVENT_RATE = re.compile(r"^ +events/s \(eps\): +(\d{1,12}\.\d{1,4})$", re.MULTILINE)
FAIRNESS = re.compile(r"^ +(events|execution time) \(avg/stddev\): +(\d{1,15}\.\d{1,4})/", re.MULTILINE)
# The report of a rate is of a moment before the total time.
RATE_TOLERANCE, RATE_ROUNDING = 0.002, 0.006
# The averages of the threads are of the same sums.
AVERAGE_ROUNDING, SUM_TOLERANCE = 0.0001, 1e-6
# Half of the last digit of a sum that 0.5 prints in seconds.
SUM_ROUNDING_MS = 0.06
BUCKET_TOLERANCE = 0.03
# Half a bucket: what is printed is the middle of one, also where the extreme latency lies on its edge.
PERCENTILE_TOLERANCE = 0.6 * report.BUCKET_WIDTH
PROGRESS_TOLERANCE, PROGRESS_ROUNDING, LATE_S = 0.05, 0.006, 1.0
# Of a report that came late, printed as a whole second.
REPORT_ROUNDING_S = 0.5
# By which names 0.5 and later versions report what happened in a second.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "queries": ("queries_per_s",),
    "ignored_errors": ("errors_per_s",),
    "reads": ("reads", "reads_per_s"),
    "writes": ("writes", "writes_per_s"),
}


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
        yield from _requests(text, queries)
    yield from _event_rate(text, measures)
    yield from _rate_times(text)
    yield from _fairness(text, measures)
    yield from _average(measures)
    yield from _progress(text, measures)
    yield from _progress_shares(text)
    if not report.WARMUP.search(text):
        yield from _progress_totals(text, measures, queries)
    yield from _progress_statements(text, measures, queries)


def _progress_shares(text: str) -> Iterator[Doubt]:
    """Yield a doubt where the reports of progress and the report give unlike percentiles: one option asks for both."""
    printed = {share for share, _ in report.percentile_lines(text)} or {0}
    shares = {int(line["share"]) for _, line in report.intervals(text) if line}
    for share in sorted(shares - printed)[:1]:
        yield Doubt(
            "progress", f"A report of progress gives the percentile {share}, the report that of {max(printed)}."
        )


def _progress_totals(text: str, measures: Mapping[str, Measure], queries: list[int]) -> Iterator[Doubt]:
    """Yield a doubt where the seconds come to more of something than the report counts.

    Their times are printed as whole seconds: one that is off moves only the difference to the next report.
    """
    totals = {name: measure.value for name, measure in measures.items() if name in ("queries", "ignored_errors")}
    totals |= dict(zip(("reads", "writes"), queries, strict=False)) if len(queries) == 4 else {}
    times_s, lines = zip(*report.intervals(text), strict=True) if report.intervals(text) else ((), ())
    if not gaps.are_punctual(times_s):
        return
    spans = list(gaps.spans(times_s, [float(line["tps"]) if line else 0.0 for line in lines]))
    for name, total in totals.items():
        column = [_value(line, COLUMNS[name]) for line in lines]
        reported = sum(value * span.known_s for value, span in zip(column, spans, strict=True))
        moved = sum(abs(value - before) for before, value in pairwise([*column, 0.0]))
        # Of none at all there is none in a report either.
        room = REPORT_ROUNDING_S * moved + PROGRESS_ROUNDING * max(times_s, default=0) + 1 if total else 0
        if reported > (1 + PROGRESS_TOLERANCE) * total + room:
            words = name.replace("_", " ")
            yield Doubt(
                "progress", f"The reports of progress come to {reported:,.0f} {words}, the report to {total:,.0f}."
            )
            return


def _progress_statements(text: str, measures: Mapping[str, Measure], queries: list[int]) -> Iterator[Doubt]:
    """Yield a doubt where a report has more reads or writes than its transactions, those under way, and errors send, or
    fewer than its transactions have sent, of which each thread may have begun one before.

    One that comes sooner, after a late one, is of so short a time that each thread's counts for more.
    """
    lines = report.intervals(text)
    transactions, errors = (
        measures[name].value if name in measures else 0 for name in ("transactions", "ignored_errors")
    )
    if len(queries) != 4 or not lines or not transactions:
        return
    least_s = max(lines[0][0] - REPORT_ROUNDING_S, REPORT_ROUNDING_S)
    for name, total in zip(("reads", "writes"), queries, strict=False):
        most_each = (1 + PROGRESS_TOLERANCE) * total / transactions
        # What failed has sent no more than a whole one.
        least_each = (1 - PROGRESS_TOLERANCE) * total / (transactions + errors)
        for (before_s, _), (at_s, line) in pairwise([(0.0, None), *lines]):
            if at_s - before_s < least_s:
                continue
            ended, failed = (_value(line, (column,)) for column in ("tps", "errors_per_s"))
            under_way, rate = _value(line, ("threads",)) / least_s, _value(line, COLUMNS[name])
            least = least_each * (ended - _most_threads(measures, lines) / least_s) - RATE_ROUNDING
            if line and not least <= rate <= most_each * (ended + failed + under_way) + RATE_ROUNDING:
                words = f"{ended + failed:,.2f} transactions and errors"
                yield Doubt("progress", f"At {at_s:g} s {rate:,.2f} {name}, of {words}.")
                return


def _most_threads(measures: Mapping[str, Measure], lines: Sequence[tuple[float, re.Match[str] | None]]) -> float:
    """Return how many threads there were; a last report may come when some of them have ended."""
    if "reported_clients" in measures:
        return measures["reported_clients"].value
    return max(_value(line, ("threads",)) for _, line in lines)


def _value(line: re.Match[str] | None, columns: Sequence[str]) -> float:
    """Return what a report says under the first of these names that it has; 0 for one that cannot be read."""
    values = line.groupdict() if line else {}
    return float(next((values[column] for column in columns if values.get(column)), "0"))


def _requests(text: str, queries: list[int]) -> Iterator[Doubt]:
    """Yield a doubt where 0.5 counts its requests otherwise than by kind."""
    expected = {"read/write requests": sum(queries[:2]), "other operations": queries[2]}
    for name, count in REQUESTS.findall(text):
        if int(count) != expected[name]:
            yield Doubt("count", f"{int(count):,} {name}, but by kind they come to {expected[name]:,}.")


def _event_rate(text: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where the events per second of 1.1 are not its transactions per second."""
    match = EVENT_RATE.search(text)
    if match and abs(float(match[1]) - measures["tps"].value) > RATE_ROUNDING:
        yield Doubt("rate", f"{match[1]} events per second, but {measures['tps'].value:,.2f} TPS are printed.")


def _rate_times(text: str) -> Iterator[Doubt]:
    """Yield a doubt where the rates are not of one time: all are divided by the same one, which is not printed."""
    spans_s = [
        (int(count) / (float(rate) + RATE_ROUNDING), int(count) / max(float(rate) - RATE_ROUNDING, RATE_ROUNDING), name)
        for name, count, rate in RATED.findall(text)
        if float(rate)
    ]
    if not spans_s:
        return
    (longest_s, _, longer), (_, shortest_s, shorter) = max(spans_s), min(spans_s, key=lambda span: span[1])
    if longest_s > shortest_s:
        yield Doubt("rate", f"The rate of {longer} is of {longest_s:,.6g} s, that of {shorter} of {shortest_s:,.6g} s.")


def _average(measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where the average is not the sum of latencies by their number, both of which it is made of."""
    names = ("latency_average_ms", "latency_sum_ms", "transactions")
    if not all(name in measures for name in names) or not measures["transactions"].value:
        return
    average_ms, sum_ms, count = (measures[name].value for name in names)
    if abs(sum_ms / count - average_ms) > RATE_ROUNDING + SUM_TOLERANCE * average_ms + SUM_ROUNDING_MS / count:
        yield Doubt(
            "latency-sum",
            f"{sum_ms:,.6g} ms of {count:,.0f} transactions are {sum_ms / count:,.4g} ms on average, not "
            f"{average_ms:,.4g} ms.",
        )


def _fairness(text: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt where the threads' averages do not come to all events, and to all their latencies."""
    if "reported_clients" not in measures:
        return
    threads = measures["reported_clients"].value
    for name, average in FAIRNESS.findall(text):
        total, measure, unit = float(average) * threads, "transactions", 1.0
        if name == "execution time":
            measure, unit = "latency_sum_ms", 1000.0
        room = unit * threads * AVERAGE_ROUNDING
        if measure in measures and abs(total * unit - measures[measure].value) > room + SUM_TOLERANCE * total * unit:
            yield Doubt("count", f"The {name} of {threads:,.0f} threads, {average} on average, come to {total:,.6g}.")


def _progress(text: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    """Yield a doubt about the first report of progress that contradicts itself, or has more threads than there were."""
    threads = measures["reported_clients"].value if "reported_clients" in measures else math.inf
    # A second of a warm-up is in no number of the report.
    longest_ms = measures["latency_max_ms"].value if "latency_max_ms" in measures else math.inf
    shortest_ms = measures["latency_min_ms"].value if "latency_min_ms" in measures else 0.0
    shortest_ms = 0.0 if report.WARMUP.search(text) else shortest_ms
    longest_ms = math.inf if report.WARMUP.search(text) else longest_ms
    latest_s = (
        (1 + PROGRESS_TOLERANCE) * measures["measured_s"].value + LATE_S if "measured_s" in measures else math.inf
    )
    # Times count from the end of a warm-up, or from its beginning.
    latest_s += int(warmup[1]) if (warmup := report.WARMUP.search(text)) else 0
    for at_s, line in report.intervals(text):
        if at_s > latest_s:
            yield Doubt("progress", f"A report of progress is of {at_s:,.4g} s, long after the end.")
            return
        values = line.groupdict() if line else {}
        by_kind = [float(values[name]) for name in ("reads", "writes", "others") if name in values]
        if by_kind and abs(sum(by_kind) - float(values["queries_per_s"])) > 4 * RATE_ROUNDING:
            yield Doubt(
                "progress", f"At {at_s:g} s {sum(by_kind):,.2f} queries, but {values['queries_per_s']} are printed."
            )
            return
        if values and float(values["percentile"]) > (1 + BUCKET_TOLERANCE) * longest_ms + RATE_ROUNDING:
            words = f"the percentile is {values['percentile']} ms, above the maximum of {longest_ms:.4g} ms"
            yield Doubt("progress", f"At {at_s:g} s {words}.")
            return
        if values and 0 < float(values["percentile"]) < (1 - BUCKET_TOLERANCE) * shortest_ms - RATE_ROUNDING:
            words = f"the percentile is {values['percentile']} ms, below the minimum of {shortest_ms:.4g} ms"
            yield Doubt("progress", f"At {at_s:g} s {words}.")
            return
        if values and int(values["threads"]) > threads:
            yield Doubt("progress", f"At {at_s:g} s there are {values['threads']} threads, more than {threads:,.0f}.")
            return


def percentile_doubts(text: str, histogram: Histogram) -> Iterator[Doubt]:
    """Yield a doubt where buckets are not sysbench's, or a printed percentile is not theirs: its rank is rounded."""
    if middle := report.no_bucket(text):
        yield Doubt("histogram", f"The bucket at {middle} ms is none of sysbench's, or not in its place.")
    for share, printed_ms in report.percentile_lines(text):
        rank = math.floor(histogram.total * share / 100 + 0.5)
        latency_ms = value_at_rank(histogram, rank) / 1000
        if abs(latency_ms - printed_ms) > PERCENTILE_TOLERANCE * printed_ms + RATE_ROUNDING:
            words = f"The {share}th percentile of {printed_ms:.4g} ms is not that of the histogram, "
            yield Doubt("histogram", f"{words}{latency_ms:.4g} ms.")


def _twice(name: str, counts: list[int] | list[str], measure: str, measures: Mapping[str, Measure]) -> Iterator[Doubt]:
    for count in counts:
        if measure in measures and int(count) != measures[measure].value:
            yield Doubt("count", f"{int(count):,} {name}, but {measures[measure].value:,.0f} {measure} are printed.")
