"""pgbench's logs: their layouts, and their reduction to histograms, in awk on the target and in Python here.

A per-transaction log (`-l`) is written at 31 bytes per transaction and can grow to gigabytes, so it is
reduced where it lies. `REDUCE_AWK` does that with any POSIX awk; `reduce_log` is the same in Python, for logs
kept raw. Both give what `Reduction` holds; its text form is the file `latency.hist`:

    benchhub-latency 1
    0 0 97 1201                 script, shift, value, count: value << shift <= us < (value + 1) << shift
    script 0 116497 61 3809     script, sum, minimum and maximum of latency in us
    kind skipped 3              lines without a latency, by kind
    lines 1204
    first_epoch_s 1700000000    of the lines that have a time, which is when the transaction ended
    last_epoch_s 1700000002
    longest_lag_us 5120         of the transactions that have a latency, at a rate
    end                         its absence tells a truncated file

The columns are those of pgbench 9.3 to 18, as the chapter on pgbench in each version's manual describes them.
"""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from runners.contract import Histogram, Measure, Outputs, RunSpec
from runners.tools import histogram
from runners.tools.printed import text_of

Change = Callable[[Iterable[bytes]], Iterable[bytes]]

HEADER = "benchhub-latency 1"
KINDS = ("skipped", "failed", "serialization", "deadlock", "other")
UNREADABLE = "unreadable"
PROCESSED = "processed"
PERCENTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
# Longer numbers are no times and no scripts; they would also lose digits in awk, which computes in binary64.
LONGEST_TIME = 15
LONGEST_SCRIPT = 4
# Of an interval its first column is the time at which it begins, of a transaction the number of its client.
INTERVAL = re.compile(rb"\d{9,12}(?: \d+){5}")
OF_INTERVALS = "No percentiles: the log is of intervals (--aggregate-interval), without a latency of each."
# Equal latencies are counted as text first and looked at once, which is four times as fast as looking at each
# line; the bound keeps memory flat. In mawk %d stops at 2^31 and print at six digits: hence %.0f throughout.
COUNT_AWK = """\
function count_pending(    key, part, kind, latency, script, shift) {
    for (key in pending) {
        split(key, part, " ")
        if (key !~ /^[0-9]+ [0-9]+$/ || length(part[1]) > 15 || length(part[2]) > 4) {
            kind = part[1] ~ /^(skipped|failed|serialization|deadlock|other)$/ ? part[1] : "unreadable"
            kinds[kind] += pending[key]
            continue
        }
        latency = part[1] + 0; script = part[2] + 0
        sum[script] += latency * pending[key]
        if (!(script in max) || latency > max[script]) max[script] = latency
        if (!(script in min) || latency < min[script]) min[script] = latency
        for (shift = 0; latency >= 1024; shift++) latency = int(latency / 2)
        bins[script " " shift " " latency] += pending[key]
    }
    split("", pending)
    distinct = 0
}
NF < 6 { kinds["unreadable"]++; next }
$5 "" != epoch {
    epoch = $5 ""
    timed = epoch ~ /^[0-9]+$/ && length(epoch) < 16
    if (timed && (first == "" || epoch + 0 < first)) first = epoch + 0
    if (timed && (last == "" || epoch + 0 > last)) last = epoch + 0
}
!timed { kinds["unreadable"]++; next }
$7 + 0 > lag + 0 && ($3 " " $4 " " $7) ~ /^[0-9]+ [0-9]+ [0-9]+$/ {
    if (length($3) < 16 && length($4) < 5 && length($7) < 16) lag = $7 + 0
}
"""
COUNT_LINE_AWK = """\
{ if (pending[$3 " " $4]++ == 0 && ++distinct == 65536) count_pending() }
END {
    count_pending()
    print "benchhub-latency 1"
    for (bin in bins) printf "%s %.0f\\n", bin, bins[bin]
    for (script in sum) printf "script %s %.0f %.0f %.0f\\n", script, sum[script], min[script], max[script]
    for (kind in kinds) printf "kind %s %.0f\\n", kind, kinds[kind]
    printf "lines %.0f\\n", NR
    if (first != "") printf "first_epoch_s %.0f\\nlast_epoch_s %.0f\\n", first, last
    if (lag != "") printf "longest_lag_us %.0f\\n", lag
    print "end"
}
"""
REDUCE_AWK = COUNT_AWK + COUNT_LINE_AWK


@dataclass(frozen=True, slots=True)
class ScriptTotals:
    """Sum and extremes of one script's latencies. `script` is its number in the order of the command line."""

    sum_us: int
    min_us: int
    max_us: int


@dataclass(frozen=True, slots=True)
class Reduction:
    """A whole per-transaction log: counts by (script, shift, value), and of lines without a latency.

    `span_s` is from the begin of its first transaction to the end of its last. The text form is without it.
    """

    lines: int
    bins: Mapping[tuple[int, int, int], int]
    scripts: Mapping[int, ScriptTotals]
    kinds: Mapping[str, int]
    first_epoch_s: int | None
    last_epoch_s: int | None
    longest_lag_us: int | None = None
    span_s: float | None = field(default=None, compare=False)

    @property
    def transactions(self) -> int:
        """Return the number of transactions that were logged with their latency."""
        return sum(self.bins.values())

    @property
    def busy_s(self) -> float:
        """Return how long the transactions took together, in seconds."""
        return sum(totals.sum_us for totals in self.scripts.values()) / 1_000_000


def _is_timed(columns: list[bytes]) -> bool:
    return len(columns) >= 6 and columns[4].isdigit() and len(columns[4]) <= LONGEST_TIME


def _kind(columns: list[bytes]) -> str:
    """Return "processed" for a line with a latency, otherwise what stands in its place, or "unreadable"."""
    if not _is_timed(columns):
        return UNREADABLE
    latency, script = columns[2:4]
    if latency.isdigit() and script.isdigit() and len(latency) <= LONGEST_TIME and len(script) <= LONGEST_SCRIPT:
        return PROCESSED
    kind = latency.decode(errors="replace")
    return kind if kind in KINDS else UNREADABLE


@dataclass(slots=True)
class _Span:
    """When the first transaction of a log began and the last one ended, in us since 1970."""

    begin_us: float = math.inf
    end_us: float = -math.inf

    def add(self, columns: list[bytes], latency_us: int) -> None:
        if columns[5].isdigit() and len(columns[5]) <= LONGEST_TIME:
            end_us = 1_000_000 * int(columns[4]) + int(columns[5])
            self.end_us = max(self.end_us, end_us)
            self.begin_us = min(self.begin_us, end_us - latency_us)

    @property
    def length_s(self) -> float | None:
        return (self.end_us - self.begin_us) / 1_000_000 if self.end_us > self.begin_us else None


def reduce_log(lines: Iterable[bytes]) -> Reduction:
    """Return the reduction of a log's lines, read once: memory grows with the bins, not with the lines."""
    read = 0
    bins: Counter[tuple[int, int, int]] = Counter()
    kinds: Counter[str] = Counter()
    scripts: dict[int, ScriptTotals] = {}
    first_epoch_s: int | None = None
    last_epoch_s: int | None = None
    longest_lag_us, span = 0, _Span()
    for line in lines:
        read += 1
        columns = line.split()
        if _is_timed(columns):
            epoch_s = int(columns[4])
            first_epoch_s = epoch_s if first_epoch_s is None else min(first_epoch_s, epoch_s)
            last_epoch_s = epoch_s if last_epoch_s is None else max(last_epoch_s, epoch_s)
        kind = _kind(columns)
        if kind != PROCESSED:
            kinds[kind] += 1
            continue
        latency_us, script = int(columns[2]), int(columns[3])
        longest_lag_us = max(longest_lag_us, _lag_us(columns))
        bins[script, *histogram.bin_of(latency_us)] += 1
        scripts[script] = _with_latency(scripts.get(script), latency_us)
        span.add(columns, latency_us)
    epochs_s, lag_us = (first_epoch_s, last_epoch_s), longest_lag_us or None
    return Reduction(read, dict(bins), scripts, dict(kinds), *epochs_s, lag_us, span.length_s)


def _lag_us(columns: list[bytes]) -> int:
    """Return the seventh column, which is the lag of a transaction at a rate; 0 without one."""
    lag = columns[6] if len(columns) > 6 else b""
    return int(lag) if lag.isdigit() and len(lag) <= LONGEST_TIME else 0


def _with_latency(totals: ScriptTotals | None, latency_us: int) -> ScriptTotals:
    if totals is None:
        return ScriptTotals(latency_us, latency_us, latency_us)
    return ScriptTotals(totals.sum_us + latency_us, min(totals.min_us, latency_us), max(totals.max_us, latency_us))


def read_reduction(text: str) -> Reduction:
    """Return what `REDUCE_AWK` printed. Raises ValueError for text that is cut off or something else."""
    lines = text.splitlines()
    if not lines or lines[0] != HEADER:
        raise ValueError("The reduced log does not begin as one.")
    if lines[-1] != "end":
        raise ValueError("The reduced log is cut off.")
    numbers: dict[str, int] = {}
    bins: dict[tuple[int, int, int], int] = {}
    scripts: dict[int, ScriptTotals] = {}
    kinds: dict[str, int] = {}
    for line in lines[1:-1]:
        match line.split():
            case ["script", script, total, least, most]:
                scripts[int(script)] = ScriptTotals(int(total), int(least), int(most))
            case ["kind", kind, count]:
                kinds[kind] = int(count)
            case [("lines" | "first_epoch_s" | "last_epoch_s" | "longest_lag_us") as name, number]:
                numbers[name] = int(number)
            case [script, shift, value, count]:
                bins[int(script), int(shift), int(value)] = int(count)
            case _:
                raise ValueError(f"The reduced log has a line that cannot be read: {line!r}.")
    return Reduction(
        numbers.get("lines", 0),
        bins,
        scripts,
        kinds,
        numbers.get("first_epoch_s"),
        numbers.get("last_epoch_s"),
        numbers.get("longest_lag_us"),
    )


def histograms(reduction: Reduction, sampling_rate: float) -> tuple[Histogram, ...]:
    """Return "latency" of all transactions, then "latency of script N" of each where there are several."""
    by_script = [script_histogram(reduction, script, sampling_rate) for script in sorted(reduction.scripts)]
    if not by_script:
        return ()
    merged = histogram.merge("latency", by_script)
    return (merged, *by_script) if len(by_script) > 1 else (merged,)


def script_histogram(reduction: Reduction, script: int, sampling_rate: float) -> Histogram:
    counts = {(shift, value): n for (number, shift, value), n in reduction.bins.items() if number == script}
    totals = reduction.scripts[script]
    return histogram.from_bins(
        f"latency of script {script}",
        counts,
        sum_us=totals.sum_us,
        min_us=totals.min_us,
        max_us=totals.max_us,
        sampling_rate=sampling_rate,
    )


@dataclass(frozen=True, slots=True)
class Latencies:
    """The latencies of a per-transaction log: its reduction, if there is one, and remarks on it."""

    reduction: Reduction | None
    remarks: tuple[str, ...] = ()


def read_latencies(spec: RunSpec, outputs: Outputs, change: Change | None = None) -> Latencies:
    """Return the latencies of a run's log, reduced on the driver, or here where it kept the log alone.

    `change` does to the lines of a kept log what the driver does before it reduces them; None for nothing.
    """
    if spec.log_sampling_rate == 0:
        return Latencies(None, ("No percentiles: transactions were not logged.",))
    dropped = outputs.files.get("log.dropped", b"").strip()
    remarks = () if not dropped else (_dropped_remark(dropped),)
    try:
        text = text_of(outputs.files["latency.hist"])
        return Latencies(read_reduction(text), remarks)
    except (KeyError, ValueError) as error:
        return _from_raw_log(outputs, remarks, _why_not_reduced(outputs, error), change)


def _dropped_remark(dropped: bytes) -> str:
    size = f"{int(dropped):,} bytes" if dropped.isdigit() else "of unknown size"
    return f"The log of transactions ({size}) was not kept; what was read from it is the histogram."


def _why_not_reduced(outputs: Outputs, error: Exception) -> str:
    errors = text_of(outputs.files.get("latency.error", b"")).strip().splitlines()
    if errors:
        return f"the log could not be reduced on the driver ({errors[-1][:200]})"
    return "there is no reduced log" if isinstance(error, KeyError) else f"the reduced log cannot be read ({error})"


def _from_raw_log(outputs: Outputs, remarks: tuple[str, ...], reason: str, change: Change | None) -> Latencies:
    """Reduce the log here where the driver could not but kept it."""
    if "log.gz" not in outputs.files:
        return Latencies(None, (*remarks, f"No percentiles: {reason}."))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(outputs.files["log.gz"])) as log:
            first = log.readline()
            if INTERVAL.match(first):
                return Latencies(None, (*remarks, OF_INTERVALS))
            lines = chain([first] if first else [], log)
            reduction = reduce_log(change(lines) if change else lines)
            return Latencies(reduction, (*remarks, f"Percentiles from the kept log: {reason}."))
    except (OSError, EOFError, zlib.error) as error:
        return Latencies(None, (*remarks, f"No percentiles: {reason}, and the kept log is damaged ({error})."))


def measures(reduction: Reduction | None, histograms: tuple[Histogram, ...]) -> dict[str, Measure]:
    """Return the number, average and percentiles of the logged latencies; empty without a log."""
    if reduction is None:
        return {}
    values = {"logged_transactions": Measure(float(reduction.transactions), "transactions")}
    if histograms:
        overall = histograms[0]
        values["logged_latency_average_ms"] = Measure(overall.sum_us / overall.total / 1000, "ms")
        for name, share in PERCENTILES.items():
            latency_us = histogram.percentile_us(overall, share)
            if latency_us is not None:
                values[f"latency_{name}_ms"] = Measure(latency_us / 1000, "ms")
    return values
