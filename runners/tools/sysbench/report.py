"""Read the report of sysbench 0.5, 1.0 and the versions before 1.1, and its reports of progress.

Formats are those of akopytov/sysbench at its branch 0.5, its tag 1.0.20 and its master (1.1.0-3ceba0b): db_driver.c
(db_report_intermediate and db_report_cumulative, in 0.5 db_print_stats), sysbench.c (sb_report_cumulative),
sb_histogram.c and sb_logger.c (log_timestamp; in 0.5 the latencies too).

0.5 prints latencies with "ms", "approx.  95 percentile", its sum in seconds, and in its reports of progress reads and
writes. What 1.0 calls total time, 1.1 calls time elapsed; before it stand the events per second.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from runners.contract import Doubt, Measure, Series
from runners.tools import gaps
from runners.tools.parts import Layout
from runners.tools.printed import damaged_doubts, unread_lines, unread_remarks

NUMBER = r"(\d{1,18}(?:\.\d{1,9})?)"
# Measure, unit, where its number stands, and how many of the unit that is. The first that there is counts.
REPORT: tuple[tuple[str, str, str, float], ...] = (
    ("tps", "TPS", rf"transactions:[ \t]+\d+[ \t]+\({NUMBER} per sec\.\)", 1),
    ("transactions", "transactions", rf"transactions:[ \t]+{NUMBER}[ \t]", 1),
    ("queries", "queries", rf"queries:[ \t]+{NUMBER}[ \t]", 1),
    ("queries", "queries", rf"total:[ \t]+{NUMBER}$", 1),
    ("ignored_errors", "errors", rf"ignored errors:[ \t]+{NUMBER}[ \t]", 1),
    ("ignored_errors", "errors", rf"deadlocks:[ \t]+{NUMBER}[ \t]", 1),  # before 0.5 was finished
    ("reconnects", "reconnects", rf"reconnects:[ \t]+{NUMBER}[ \t]", 1),
    ("latency_min_ms", "ms", rf"min:[ \t]+{NUMBER}(?:ms)?$", 1),
    ("latency_average_ms", "ms", rf"avg:[ \t]+{NUMBER}(?:ms)?$", 1),
    ("latency_max_ms", "ms", rf"max:[ \t]+{NUMBER}(?:ms)?$", 1),
    ("latency_sum_ms", "ms", rf"sum:[ \t]+{NUMBER}$", 1),
    ("latency_sum_ms", "ms", rf"total time taken by event execution:[ \t]+{NUMBER}s?$", 1000),
    ("measured_s", "s", rf"(?:total time|time elapsed):[ \t]+{NUMBER}s$", 1),
    ("reported_clients", "clients", r"Number of threads: (\d{1,9})$", 1),
)
READERS = tuple((name, unit, re.compile(rf"^[ \t]*{line}", re.MULTILINE), by) for name, unit, line, by in REPORT)
LABELS = (*(f"{line.partition(':')[0]}:" for _, _, line, _ in REPORT if line[0] != "("), "total time:", "time elapsed:")
PERCENTILE_LABEL = re.compile(r"(?:\d{1,9}(?:st|nd|rd|th)|approx\.[ \t]+\d{1,9}) percentile:")
PERCENTILE_LINES = (
    re.compile(rf"^[ \t]*(\d{{1,3}})th percentile:[ \t]+{NUMBER}$", re.MULTILINE),
    re.compile(rf"^[ \t]*approx\.[ \t]+(\d{{1,3}}) percentile:[ \t]+{NUMBER}ms$", re.MULTILINE),
)
# 1,024 buckets from 0.001 to 100,000 ms, equally wide by logarithm.
FIRST_BUCKET_MS, LAST_BUCKET_MS = 0.001, 100_000.0
BUCKET_WIDTH = math.log(LAST_BUCKET_MS / FIRST_BUCKET_MS) / 1023
# Middles are printed with three decimals.
BUCKET_ROUNDING_MS = 0.00051
BUCKET = re.compile(rf"^[ \t]*{NUMBER} \|\**[ \t]+(\d{{1,18}})$", re.MULTILINE)
VERSION = re.compile(r"^sysbench (\d[0-9a-f.-]{0,30})", re.MULTILINE)
WARMUP = re.compile(r"^Warmup time: (\d{1,9})s$", re.MULTILINE)
TIME = r"\[ {0,4}(\d{1,9}(?:\.\d{1,3})?)s ?\] "
TIMED = re.compile(rf"^{TIME}(.*)$", re.MULTILINE)
# By which a report of progress is known also where its time cannot be read.
REPORT_LINE = re.compile(r"\[[^\]\n]{0,20}\] (?:thds|threads): ?")
INTERVALS = (
    re.compile(
        rf"thds: (?P<threads>\d{{1,9}}) tps: (?P<tps>{NUMBER}) qps: (?P<queries_per_s>{NUMBER}) "
        rf"\(r/w/o: (?P<reads>{NUMBER})/(?P<writes>{NUMBER})/(?P<others>{NUMBER})\) "
        rf"lat \(ms,(?P<share>100|\d{{1,2}})%\): (?P<percentile>{NUMBER}) err/s: (?P<errors_per_s>{NUMBER}) "
    ),
    re.compile(
        rf"threads: (?P<threads>\d{{1,9}}), tps: (?P<tps>{NUMBER}), reads: (?P<reads_per_s>{NUMBER}), "
        rf"writes: (?P<writes_per_s>{NUMBER}), "
        rf"response time: (?P<percentile>{NUMBER})ms \((?P<share>100|\d{{1,2}})%\), "
        rf"errors: (?P<errors_per_s>{NUMBER}),"
    ),
)
UNITS = {
    "tps": "TPS",
    "queries_per_s": "queries/s",
    "reads_per_s": "queries/s",
    "writes_per_s": "queries/s",
    "errors_per_s": "errors/s",
}
QUEUE, CHECKPOINT = "queue length: ", "Checkpoint report:"
MOST_SECONDS = 1_000_000
LAYOUT = Layout(
    banner=r"sysbench \d",
    once=(
        r"Number of threads: ",
        r"[ \t]*(?:SQL|OLTP test) statistics:",
        r"[ \t]*transactions: ",
        r"[ \t]*(?:total time|time elapsed): ",
        r"[ \t]*total number of events: ",
        r"[ \t]*min: ",
        r"[ \t]*avg: ",
        r"[ \t]*max: ",
        r"[ \t]*sum: ",
        r"Threads fairness:",
    ),
    progress=TIME,
    summary=1,
    clients=r"Number of threads: (\d{1,9})$",
)


@dataclass(frozen=True, slots=True)
class Progress:
    """The series of the reports of progress, remarks on those that are in none, and the seconds at which they came.

    `damaged` are the lines that cannot be read, but for one at the end of the text, which may have been cut there.
    """

    series: tuple[Series, ...]
    remarks: tuple[str, ...]
    times_s: tuple[float, ...] = ()
    damaged: tuple[str, ...] = ()

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Return a slight doubt where a line is damaged: nothing holds its numbers against the others."""
        return damaged_doubts(self.damaged)


def read_measures(text: str) -> dict[str, Measure]:
    measures: dict[str, Measure] = {}
    for name, unit, line, by in READERS:
        if name not in measures and (match := line.search(text)):
            measures[name] = Measure(float(match[1]) * by, unit)
    return measures


def unread(text: str) -> tuple[str, ...]:
    """Return a remark on each line of a measure that cannot be read, so that it is in no number."""
    lines = [line for line in text.split("\n") if line.strip(" \t").startswith(LABELS)]
    unread = [line.strip() for line in lines if not any(reader.match(line) for _, _, reader, _ in READERS)]
    return unread_lines([*unread, *_unread_percentiles(text)])


def _unread_percentiles(text: str) -> list[str]:
    """Return the lines of percentiles that none can be, as one above 100; 0 is for none, and no loss."""
    lines = [line.strip(" \t") for line in text.split("\n")]
    labelled = [line for line in lines if PERCENTILE_LABEL.match(line)]
    return [line for line in labelled if not any(0 <= share <= 100 for share, _ in _printed_percentiles(line))]


def _printed_percentiles(text: str) -> list[tuple[int, float]]:
    return [(int(share), float(ms)) for line in PERCENTILE_LINES for share, ms in line.findall(text)]


def percentile_lines(text: str) -> list[tuple[int, float]]:
    """Return the percentiles that are printed: the share in percent, and the latency in ms; 0 is for none."""
    return [(share, ms) for share, ms in _printed_percentiles(text) if 0 < share <= 100]


def read_percentiles(text: str) -> dict[str, Measure]:
    """Return the percentiles that are printed, by their names."""
    return {f"latency_p{share}_ms": Measure(ms, "ms") for share, ms in percentile_lines(text)}


def bucket_place(middle_ms: float) -> int:
    """Return the number, from 0, of the bucket whose middle lies nearest to this."""
    return round(math.log(max(middle_ms, FIRST_BUCKET_MS) / FIRST_BUCKET_MS) / BUCKET_WIDTH)


def no_bucket(text: str) -> str:
    """Return the first printed middle that is not one of sysbench's, or does not follow the one before; "" if none."""
    before_ms = 0.0
    for middle, _ in BUCKET.findall(text):
        middle_ms = float(middle)
        exact_ms = FIRST_BUCKET_MS * math.exp(BUCKET_WIDTH * bucket_place(middle_ms))
        # The narrowest are printed alike.
        is_after = middle_ms > before_ms or (
            middle_ms == before_ms and BUCKET_WIDTH * before_ms < 2 * BUCKET_ROUNDING_MS
        )
        if not is_after or abs(middle_ms - exact_ms) > BUCKET_ROUNDING_MS:
            return str(middle)
        before_ms = middle_ms
    return ""


def bucket_counts(text: str) -> dict[tuple[int, int], int]:
    """Return the counts of the printed buckets by their edges in us; empty ones are not printed."""
    counts: Counter[tuple[int, int]] = Counter()
    for middle_ms, count in BUCKET.findall(text):
        place = bucket_place(float(middle_ms))
        low, high = (round(1000 * FIRST_BUCKET_MS * math.exp(BUCKET_WIDTH * (place + side))) for side in (-0.5, 0.5))
        counts[low, max(low + 1, high)] += int(count)
    return counts


def has_checkpoints(text: str) -> bool:
    """Tell whether the report is in parts (--report-checkpoints), of which the last has only the time since another."""
    return any(line == CHECKPOINT for _, line in TIMED.findall(text))


def intervals(text: str) -> list[tuple[float, re.Match[str] | None]]:
    """Return the time of each report of progress, and what it says; None where that cannot be read."""
    lines = [(float(at_s), line) for at_s, line in TIMED.findall(text) if not line.startswith((QUEUE, CHECKPOINT))]
    return [(at_s, next(filter(None, (interval.match(line) for interval in INTERVALS)), None)) for at_s, line in lines]


def read_progress(text: str, started_epoch_s: float) -> Progress:
    """Return series of one value per second; a line that came late covers all seconds since the one before.

    Where several lines are missing, their seconds have no values.
    """
    lines = intervals(text)
    reports = [
        gaps.Report(at_s, partial(_values, match)) for at_s, match in lines if match and 0 < at_s <= MOST_SECONDS
    ]
    columns = gaps.columns(reports)
    series = (
        Series(name, UNITS.get(name, "ms"), started_epoch_s, 1.0, tuple(values)) for name, values in columns.items()
    )
    remarks = (*unread_remarks(len(lines), len(reports)), *gaps.remarks(columns))
    times_s = tuple(report.at_s for report in reports)
    damaged = tuple(line for line in _report_lines(text) if not _is_read(line))
    damaged = damaged[:-1] if damaged and text.rstrip().endswith(damaged[-1].rstrip()) else damaged
    return Progress(tuple(line for line in series if line.values), remarks, times_s, damaged)


def _report_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if REPORT_LINE.match(line)]


def _is_read(line: str) -> bool:
    timed = TIMED.match(line)
    return timed is not None and any(interval.match(timed[2]) for interval in INTERVALS)


def _values(match: re.Match[str], seconds: int) -> dict[str, float]:
    """Return the values of a report by metric; all are of one second, however many it covers."""
    del seconds
    values = {name: float(text) for name, text in match.groupdict().items() if name in UNITS}
    # Without --percentile sysbench prints 0 for it.
    if match["share"] != "0":
        values[f"latency_p{match['share']}_ms"] = float(match["percentile"])
    return values


def remarks(text: str, measures: Mapping[str, Measure]) -> list[str]:
    """Return what stands beside the numbers: which sysbench it was, and how many transactions failed."""
    version = VERSION.search(text)
    remarks = [f"Measured by sysbench {version[1]}."] if version else []
    if warmup := WARMUP.search(text):
        remarks.append(f"sysbench warmed up for {warmup[1]} s first (--warmup-time): that is in no number.")
    ignored = measures.get("ignored_errors")
    if ignored and ignored.value:
        remarks.append(f"{ignored.value:,.0f} transactions failed (deadlocks and the like) and were tried again.")
    return remarks
