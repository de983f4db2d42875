"""Read the reports of progress (-P) of pgbench 9.4 to 18, from stderr or from where the two streams were merged.

A line is as src/bin/pgbench/pgbench.c of PostgreSQL prints it (printProgressReport; up to 10 in threadRun): the time,
then "tps, lat ms stddev", then what there is of failed (15 and newer), lag (-R), skipped (-L), retried and retries
(--max-tries). The time is of the run, with one decimal; with --progress-timestamp it is since 1970, with three.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, zip_longest

from runners.contract import Doubt, Measure, Series
from runners.tools import gaps
from runners.tools.moments import Moment
from runners.tools.printed import damaged_doubts, unread_remarks

# What is no number, the C library writes in small letters; PostgreSQL's own printf, since 12, in large ones.
NUMBER = r"(?:\d+(?:\.\d+)?|-?(?:nan|NaN|inf|Infinity))"
# Always with its decimals, of which TATP writes three in each: a number that a terminal has broken is none.
TENTHS, THOUSANDTHS = (NUMBER.replace(r"(?:\.\d+)?", rf"\.{digits}") for digits in (r"\d(?:\d\d)?", r"\d{3}"))
BEGINNING = "progress: "
PROGRESS_LINE = re.compile(
    rf"^progress: (?P<at_s>\d{{1,12}}\.\d{{1,3}}) s, (?P<tps>{TENTHS}) tps"
    rf", lat (?P<latency_ms>{THOUSANDTHS}) ms stddev (?P<stddev_ms>{THOUSANDTHS})"
    r"(?:, (?P<failed>\d+) failed)?"
    rf"(?:, lag (?P<lag_ms>{THOUSANDTHS}) ms)?(?:, (?P<skipped>\d+) skipped)?"
    r"(?:, (?P<retried>\d+) retried, (?P<retries>\d+) retries)?$"
)
# By which a report is known wherever it stands in a line; a message of a script may have the word as well.
MESSAGE_LINE = re.compile(rf"progress: \d{{1,12}}\.\d{{1,3}} s, {NUMBER} tps, lat ")
SERIES_UNITS = {
    "tps": "TPS",
    "latency_ms": "ms",
    "latency_stddev_ms": "ms",
    "failed": "transactions",
    "lag_ms": "ms",
    "skipped": "transactions",
    "retried": "transactions",
    "retries": "retries",
}
# What is divided by the number of transactions or by the seconds.
AVERAGED = ("tps", "latency_ms", "latency_stddev_ms", "lag_ms")
PROGRESS_STEP_S = 1.0
MOST_PROGRESS_STEPS = 1_000_000
# No run lasts for so long, and no clock that has been set shows so little.
FIRST_EPOCH_S = 100_000_000
FEWEST_EPOCHS = 3
UNKNOWN_LENGTH = (
    "Its only report of progress has a time since 1970: nothing says for how many seconds it stands, so that there are "
    "no values over time."
)


@dataclass(frozen=True, slots=True)
class Progress:
    """The series of the reports, remarks on those that are in none, the seconds of the run at which they came,
    and what each says; nothing where not all can be read. `has_epochs`: their times were since 1970. `damaged` are the
    lines that cannot be read, but for one at the end of the text, which may have been cut there.
    """

    series: tuple[Series, ...] = ()
    remarks: tuple[str, ...] = ()
    times_s: tuple[float, ...] = ()
    moments: tuple[Moment, ...] = ()
    has_epochs: bool = False
    damaged: tuple[str, ...] = ()

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Return a slight doubt where a line is damaged: nothing holds its numbers against the others."""
        return damaged_doubts(self.damaged)

    @property
    def is_of_unknown_length(self) -> bool:
        """Tell whether nothing says for how many seconds its single report stands, as its time is since 1970."""
        return self.has_epochs and len(self.times_s) == 1

    @property
    def measures(self) -> dict[str, Measure]:
        """Return for how many seconds each stands, where that is known."""
        return {} if self.is_of_unknown_length else gaps.interval_measures(self.times_s)

    @property
    def series_in_time(self) -> tuple[Series, ...]:
        """Return the series; none where nothing says how long they are."""
        return () if self.is_of_unknown_length else self.series

    @property
    def moments_in_time(self) -> tuple[Moment, ...]:
        """Return what each says where it is known how long before the first one the run began.

        Of times since 1970 that is so where two steps agree on the interval.
        """
        is_known = len(self.times_s) >= FEWEST_EPOCHS and gaps.are_punctual(self.times_s)
        return self.moments if is_known or not self.has_epochs else ()


@dataclass(frozen=True, slots=True)
class Report:
    """A line of progress: the seconds of the run at its end, and what it says.

    `with_skipped_s` are the seconds that it is about, where it counts skipped transactions among those that ended.
    """

    at_s: float
    line: re.Match[str]
    with_skipped_s: float = 0.0


def read(
    stderr: str,
    stdout: str,
    started_epoch_s: float | None,
    ended_s: float = math.inf,
    *,
    has_skipped: bool = False,
) -> Progress:
    """Return the series with one value per second, from stderr, or from stdout where stderr was merged into it.

    A line that came late covers all seconds since the one before: each gets its value, or an equal part of its counts.
    Where several lines are missing, their seconds have no values.
    A second without any transaction has latency 0, which is how newer versions print it (older: NaN). Times since 1970
    say when the run started, whether or not that is known: no report comes after `ended_s`, when it had ended.
    `has_skipped`: rates and averages are of skipped transactions too, which are taken out.
    """
    messages, printed = _lines(stderr), _lines(stdout)
    lines = messages or printed
    reports = [Report(float(line["at_s"]), line) for line in map(PROGRESS_LINE.match, lines) if line]
    epoch_s = _epoch_s(reports, ended_s)
    timed = [replace(report, at_s=report.at_s - (epoch_s or 0.0)) for report in reports]
    timed = _with_spans(timed) if has_skipped else timed
    within = [report for report in timed if 0 < report.at_s <= MOST_PROGRESS_STEPS]
    start_epoch_s = epoch_s if epoch_s is not None else started_epoch_s or 0.0
    columns = gaps.columns([gaps.Report(report.at_s, partial(_values, report)) for report in within])
    series = [
        Series(metric, SERIES_UNITS[metric], start_epoch_s, PROGRESS_STEP_S, tuple(values))
        for metric, values in columns.items()
    ]
    remarks = (
        *unread_remarks(len(lines), len(within)),
        *gaps.remarks(columns),
        *_otherwise(messages, printed),
        *([UNKNOWN_LENGTH] if epoch_s is not None and len(timed) == 1 else []),
    )
    times_s = tuple(report.at_s for report in timed)
    moments = tuple(map(_moment, within)) if len(within) == len(lines) else ()
    text = stderr if messages else stdout
    damaged = tuple(line for line in lines if not PROGRESS_LINE.match(line) and not text.endswith(line))
    return Progress(tuple(series), remarks, times_s, moments, epoch_s is not None, damaged)


def _moment(report: Report) -> Moment:
    values = _values(report, 1)
    return Moment(report.at_s, values["tps"], values["latency_ms"], values["latency_stddev_ms"])


def _with_spans(reports: Sequence[Report]) -> list[Report]:
    times_s = [0.0, *(report.at_s for report in reports)]
    spans_s = [at_s - since_s for since_s, at_s in pairwise(times_s)]
    return [replace(report, with_skipped_s=span_s) for report, span_s in zip(reports, spans_s, strict=True)]


def _lines(text: str) -> list[str]:
    lines = text.splitlines()
    pairs = zip_longest(lines, lines[1:], fillvalue="")
    return [_whole(line.rstrip(), after) for line, after in pairs if line.startswith(BEGINNING)]


def _whole(line: str, after: str) -> str:
    """Return the line with its end, where a terminal that is less wide has put that on a line of its own."""
    if not after or after.startswith(BEGINNING):
        return line
    return next(filter(PROGRESS_LINE.match, (f"{line}{after}", f"{line} {after}")), line)


def _epoch_s(reports: Sequence[Report], ended_s: float) -> float | None:
    """Return when the first report's seconds began, by times since 1970; None where times are of the run.

    Of a single one the seconds before it are not known, and taken for 1.
    """
    if not reports or reports[0].at_s < FIRST_EPOCH_S:
        return None
    interval_s = gaps.reports_interval_s([report.at_s for report in reports])
    # None comes before its time, but the first may come late.
    begun_s = min(report.at_s - place * interval_s for place, report in enumerate(reports, start=1))
    return max(begun_s, min(reports[-1].at_s - ended_s, reports[0].at_s - PROGRESS_STEP_S))


def _values(report: Report, steps: int) -> dict[str, float]:
    """Return the values of one line by metric, its counts divided over the seconds that it covers."""
    line = report.line
    values = {"tps": line["tps"], "latency_ms": line["latency_ms"], "latency_stddev_ms": line["stddev_ms"]}
    values |= {"lag_ms": line["lag_ms"]} if line["lag_ms"] else {}
    counts = {name: line[name] for name in ("failed", "skipped", "retried", "retries") if line[name]}
    numbers = {name: float(value) for name, value in values.items()}
    numbers |= {name: int(value[:15]) / steps for name, value in counts.items()}
    finite = {name: number if math.isfinite(number) else 0.0 for name, number in numbers.items()}
    return finite | _of_ended(finite, int((line["skipped"] or "0")[:15]), report.with_skipped_s)


def _of_ended(values: Mapping[str, float], skipped: int, span_s: float) -> dict[str, float]:
    """Return rate and averages of the transactions that ended, out of those of all; {} where none was skipped."""
    if not skipped or span_s <= 0:
        return {}
    counted = round(values["tps"] * span_s)
    if (ended := counted - skipped) <= 0:
        return {name: 0.0 for name in AVERAGED if name in values}
    averages = {name: values[name] * counted / ended for name in AVERAGED if name in values}
    squares = (values["latency_ms"] ** 2 + values["latency_stddev_ms"] ** 2) * counted / ended
    deviation_ms = math.sqrt(max(0.0, squares - averages["latency_ms"] ** 2))
    return {**averages, "tps": ended / span_s, "latency_stddev_ms": deviation_ms}


def _otherwise(messages: Sequence[str], printed: Sequence[str]) -> tuple[str, ...]:
    if not messages or not printed or messages == printed:
        return ()
    return ("Standard output has other lines of progress than stderr: the values over time are those of stderr.",)
