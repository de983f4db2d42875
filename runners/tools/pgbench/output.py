"""Read what pgbench 9.3 to 18 prints into measures and series.

Text is read as the C locale prints it, from lines that are not indented: pgbench 18 repeats some of them,
indented, for each script.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from runners.contract import Measure, Series

NUMBER = r"(?:-?[0-9.]+|-?nan|-?inf)"

# The three ways to count that a version may print, with what follows the number there.
TPS_LINES = {
    "including": r"(?:including connections establishing|including reconnection times)",
    "excluding": r"(?:excluding connections establishing)",
    "without": r"(?:without initial connection time)",
}

# Measure, unit, and the line that holds it.
SUMMARY_LINES: tuple[tuple[str, str, str], ...] = (
    ("transactions", "transactions", r"number of transactions actually processed: (\d+)(?:/\d+)?$"),
    ("failed_transactions", "transactions", r"number of failed transactions: (\d+) "),
    ("serialization_failures", "transactions", r"number of serialization failures: (\d+) "),
    ("deadlock_failures", "transactions", r"number of deadlock failures: (\d+) "),
    ("retried_transactions", "transactions", r"number of transactions retried: (\d+) "),
    ("retries", "retries", r"total number of retries: (\d+)$"),
    ("skipped_transactions", "transactions", r"number of transactions skipped: (\d+) "),
    ("late_transactions", "transactions", r"number of transactions above the .* latency limit: (\d+)[ /]"),
    ("latency_average_ms", "ms", rf"latency average(?: =|:) ({NUMBER}) ms"),
    ("latency_stddev_ms", "ms", rf"latency stddev(?: =|:) ({NUMBER}) ms"),
    ("rate_limit_lag_average_ms", "ms", rf"rate limit schedule lag: avg ({NUMBER}) "),
    ("rate_limit_lag_max_ms", "ms", rf"rate limit schedule lag: avg \S+ \(max ({NUMBER})\) ms"),
    ("initial_connection_time_ms", "ms", rf"initial connection time = ({NUMBER}) ms"),
    ("average_connection_time_ms", "ms", rf"average connection time = ({NUMBER}) ms"),
    ("reported_scale", "scale", r"scaling factor: (\d+)$"),
    ("reported_clients", "clients", r"number of clients: (\d+)$"),
    ("reported_threads", "threads", r"number of threads: (\d+)$"),
)

PROGRESS_LINE = re.compile(
    rf"^progress: (?P<at_s>[0-9.]+) s, (?P<tps>{NUMBER}) tps"
    rf", lat (?P<latency_ms>{NUMBER}) ms stddev (?P<stddev_ms>{NUMBER})"
    r"(?:, (?P<failed>\d+) failed)?"
    rf"(?:, lag (?P<lag_ms>{NUMBER}) ms)?(?:, (?P<skipped>\d+) skipped)?"
    r"(?:, (?P<retried>\d+) retried, (?P<retries>\d+) retries)?$"
)
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

WARNING = re.compile(r"^pgbench: warning: (.*)$", re.MULTILINE)
PROGRESS_STEP_S = 1.0
MOST_PROGRESS_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Summary:
    """The measures of the summary by name, with the TPS that stands for the run as "tps"."""

    measures: Mapping[str, Measure]
    missing: str = ""


def read_summary(stdout: str, *, connect_each: bool) -> Summary:
    """Return the measures of the summary, or none and in `missing` why there is no TPS.

    TPS is the one "excluding connections establishing" up to 13 and "without initial connection time" from 14
    on; with -C, where connecting is part of each transaction, it is the one that includes it.
    """
    numbers = {name: _number(stdout, line) for name, _, line in SUMMARY_LINES}
    tps = {way: _number(stdout, rf"tps = ({NUMBER}) \({words}\)") for way, words in TPS_LINES.items()}
    missing = _missing(stdout, numbers, tps, connect_each)
    if missing:
        return Summary({}, missing)
    units = {name: unit for name, unit, _ in SUMMARY_LINES}
    measures = {name: Measure(n, units[name]) for name, n in numbers.items() if n is not None and math.isfinite(n)}
    return Summary({**_tps_measures(tps, connect_each), **measures})


def _number(text: str, line: str) -> float | None:
    match = re.search(f"^{line}", text, re.MULTILINE)
    return float(match.group(1)) if match else None


def _canonical(tps: Mapping[str, float | None], connect_each: bool) -> float | None:
    if connect_each:
        return tps["including"]
    return tps["without"] if tps["without"] is not None else tps["excluding"]


def _missing(
    stdout: str, numbers: Mapping[str, float | None], tps: Mapping[str, float | None], connect_each: bool
) -> str:
    if not stdout.strip():
        return "pgbench printed no summary"
    if numbers["transactions"] is None:
        return "pgbench's summary is cut off before the number of transactions"
    if numbers["transactions"] == 0:
        return "pgbench processed no transaction"
    canonical = _canonical(tps, connect_each)
    if canonical is None:
        return "pgbench's summary has no line with the TPS"
    if not (math.isfinite(canonical) and canonical > 0):
        return f"pgbench printed {canonical} as its TPS"
    return ""


def _tps_measures(tps: Mapping[str, float | None], connect_each: bool) -> dict[str, Measure]:
    canonical = _canonical(tps, connect_each)
    measures = {} if canonical is None else {"tps": Measure(canonical, "TPS")}
    both = tps["including"], tps["excluding"]
    for name, value in zip(("tps_including", "tps_excluding"), both, strict=True):
        if None not in both and value is not None and math.isfinite(value):
            measures[name] = Measure(value, "TPS")
    return measures


def read_progress(stderr: str, started_epoch_s: float) -> tuple[Series, ...]:
    """Return the series of the -P lines, with one value per second.

    A line that came late covers all seconds since the one before: each gets its value, or an equal part of
    its counts.
    A second without any transaction has latency 0, which is how newer versions print it (older: NaN).
    """
    columns: dict[str, list[float]] = {}
    filled = 0
    for line in stderr.splitlines():
        match = PROGRESS_LINE.match(line)
        step = round(float(match["at_s"]) / PROGRESS_STEP_S) if match else 0
        if match and filled < step <= MOST_PROGRESS_STEPS:
            for metric, value in _progress_values(match, step - filled).items():
                columns.setdefault(metric, [0.0] * filled).extend([value] * (step - filled))
            filled = step
    return tuple(
        Series(metric, SERIES_UNITS[metric], started_epoch_s, PROGRESS_STEP_S, tuple(values))
        for metric, values in columns.items()
    )


def _progress_values(match: re.Match[str], steps: int) -> dict[str, float]:
    """Return the values of one line by metric, its counts divided over the seconds that it covers."""
    values = {"tps": match["tps"], "latency_ms": match["latency_ms"], "latency_stddev_ms": match["stddev_ms"]}
    values |= {"lag_ms": match["lag_ms"]} if match["lag_ms"] else {}
    counts = {name: match[name] for name in ("failed", "skipped", "retried", "retries") if match[name]}
    numbers = {name: float(value) for name, value in values.items()}
    numbers |= {name: int(value) / steps for name, value in counts.items()}
    return {name: number if math.isfinite(number) else 0.0 for name, number in numbers.items()}


def warnings(stderr: str) -> tuple[str, ...]:
    """Return pgbench's warnings, each once, as remarks."""
    return tuple(dict.fromkeys(f"pgbench warned: {text.rstrip('.')}." for text in WARNING.findall(stderr)))
