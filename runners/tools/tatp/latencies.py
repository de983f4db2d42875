"""Read the response times of TATP from its log, reduced or kept, without warm-up, refusals and untold writes."""

from __future__ import annotations

import gzip
import io
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from runners.contract import Doubt, Histogram, Measure, Outputs, RunSpec
from runners.tools.histogram import merge, percentile_us
from runners.tools.pgbench import log as pgbench_log
from runners.tools.pgbench.log import Reduction
from runners.tools.printed import text_of

from . import command, read
from .log import REFUSED, UNTOLD, is_sample
from .parameters import ACCEPTING, TRANSACTIONS

PERCENTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}


def read_log(spec: RunSpec, outputs: Outputs) -> tuple[Reduction | None, list[str]]:
    """Return the log's reduction by awk on the driver, or else by reading the log that was kept; and remarks."""
    try:
        return pgbench_log.read_reduction(file_text(outputs, command.LATENCY_FILE)), []
    except (LookupError, ValueError) as error:
        errors = text_of(outputs.files.get("tatp.error", b"")).strip().splitlines()
        reason = f"the log could not be reduced on the driver ({errors[-1][:200] if errors else error})"
    try:
        names = ("log.gz", f"{command.MARKS_FILE}.gz")
        log, marks = (read.chunks(gzip.GzipFile(fileobj=io.BytesIO(outputs.files[name]))) for name in names)
        measured_from = int(outputs.files["started_epoch"]) + spec.warmup_s
        return read.reduce(log, marks, measured_from), [f"Response times are from the kept log: {reason}."]
    except (KeyError, ValueError, OSError, EOFError, zlib.error):
        return None, [f"No response times: {reason}."]


def file_text(outputs: Outputs, name: str) -> str:
    """Return the text of a file that the run left. Raises LookupError with a sentence where it is missing."""
    if name not in outputs.files:
        raise LookupError(f"there is no {name}")
    return text_of(outputs.files[name])


def histograms_of(reduction: Reduction | None, sampling_rate: float) -> tuple[Histogram, ...]:
    """Return "latency" of all transactions that count, then one by the name of each type."""
    if reduction is None or not reduction.scripts:
        return ()
    by_type = [
        replace(pgbench_log.script_histogram(reduction, script, sampling_rate), name=TRANSACTIONS[script])
        for script in sorted(reduction.scripts)
        if script < len(TRANSACTIONS)
    ]
    return (merge("latency", by_type), *by_type)


def measures_of(histograms: Sequence[Histogram]) -> dict[str, Measure]:
    if not histograms:
        return {}
    overall = histograms[0]
    measures = {
        "logged_transactions": Measure(float(overall.total), "transactions"),
        "latency_average_ms": Measure(overall.sum_us / overall.total / 1000, "ms"),
    }
    for name, share in PERCENTILES.items():
        if (latency_us := percentile_us(overall, share)) is not None:
            measures[f"latency_{name}_ms"] = Measure(latency_us / 1000, "ms")
    return measures


def logged_shares(reduction: Reduction | None) -> dict[int, float]:
    """Return the share of the log's lines by script, with those that were refused or untold; empty without a log."""
    if reduction is None or not reduction.transactions:
        return {}
    lines = logged_lines(reduction)
    return {script: number / lines.total() for script, number in lines.items()}


def logged_lines(reduction: Reduction) -> Counter[int]:
    lines: Counter[int] = Counter()
    for (script, _, _), number in reduction.bins.items():
        lines[script] += number
    for script in ACCEPTING:
        lines[script] += reduction.kinds.get(f"{REFUSED}{script}", 0) + reduction.kinds.get(f"{UNTOLD}{script}", 0)
    return lines


def untold(reduction: Reduction | None) -> list[str]:
    """Return a remark where writes of the log ended after the last success that their client told."""
    number = sum(reduction.kinds.get(f"{UNTOLD}{script}", 0) for script in ACCEPTING) if reduction else 0
    reason = "of the log ended after the last success that their client told, so they are in no response time."
    return [f"{number:,} writes {reason}"] * bool(number)


def doubts_of(reduction: Reduction | None, shares: Mapping[str, float | None]) -> list[Doubt]:
    """Return the doubts about a log: lines, or outcomes in it that contradict the shares of success that were told."""
    if reduction is None:
        return []
    unreadable = reduction.kinds.get(pgbench_log.UNREADABLE, 0)
    text = f"{unreadable:,} of the log's {reduction.lines:,} lines cannot be read, so percentiles may be incomplete."
    return [Doubt("log-unreadable", text)] * bool(unreadable) + _unfound(reduction, shares)


def _unfound(reduction: Reduction, shares: Mapping[str, float | None]) -> list[Doubt]:
    """Return doubts about outcomes at the wrong transactions of the log, as where a pgbench numbers them otherwise."""
    doubts, lines = [], logged_lines(reduction)
    for number in ACCEPTING:
        share, logged = shares.get(name := TRANSACTIONS[number]), lines[number]
        logged -= reduction.kinds.get(f"{UNTOLD}{number}", 0)
        done = logged - reduction.kinds.get(f"{REFUSED}{number}", 0)
        if share is not None and not is_sample(done, logged, share):
            text = f"{done:,} of the log's {logged:,} {name} seem to have succeeded, where {100 * share:.2f}% did."
            doubts.append(Doubt("log-outcomes", f"{text} The log's response times may include writes that failed."))
    return doubts
