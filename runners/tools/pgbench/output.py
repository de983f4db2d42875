"""Read what pgbench 9.3 to 18 prints into measures; progress.py has its reports of progress.

Text is read as the C locale prints it, from lines that are not indented: pgbench 18 repeats some of them,
indented, for each script.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from runners.contract import Measure
from runners.tools.parts import Layout

from .progress import NUMBER

# The three ways to count that a version may print, with what follows the number there.
TPS_LINES = {
    "including": r"(?:including connections establishing|including reconnection times)",
    "excluding": r"(?:excluding connections establishing)",
    "without": r"(?:without initial connection time)",
}

# Measure, unit, and the line that holds it.
LINES: tuple[tuple[str, str, str], ...] = (
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

# The lines that every run prints once (src/bin/pgbench/pgbench.c, printVersion and printResults), in their order.
LAYOUT = Layout(
    banner=r"pgbench \(\d",
    once=(
        r"transaction type: ",
        r"scaling factor: ",
        r"query mode: ",
        r"number of clients: ",
        r"number of threads: ",
        r"number of transactions per client: |duration: ",
        r"number of transactions actually processed: ",
        r"latency average",
        r"latency stddev",
        r"initial connection time|average connection time",
        r"tps = [^(]{1,60}\(including",
        r"tps = [^(]{1,60}\((?:excluding|without)",
    ),
    progress=r"progress: (\d{1,12}\.\d{1,3}) s, ",
    summary=0,
    clients=r"number of clients: (\d{1,9})$",
)

SUMMARY_LINES = {name: re.compile(f"^{line}", re.MULTILINE) for name, _, line in LINES}
UNITS = {name: unit for name, unit, _ in LINES}
RATE_LINES = {way: re.compile(rf"^tps = ({NUMBER}) \({words}\)", re.MULTILINE) for way, words in TPS_LINES.items()}

WARNING = re.compile(r"^pgbench: warning: (.*)$", re.MULTILINE)


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
    numbers = {name: _number(stdout, line) for name, line in SUMMARY_LINES.items()}
    tps = {way: _number(stdout, line) for way, line in RATE_LINES.items()}
    missing = _missing(stdout, numbers, tps, connect_each)
    if missing:
        return Summary({}, missing)
    measures = {name: Measure(n, UNITS[name]) for name, n in numbers.items() if n is not None and math.isfinite(n)}
    return Summary({**_tps_measures(tps, connect_each), **measures})


def _number(text: str, line: re.Pattern[str]) -> float | None:
    match = line.search(text)
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


def warnings(stderr: str) -> tuple[str, ...]:
    """Return pgbench's warnings, each once, as remarks."""
    return tuple(dict.fromkeys(f"pgbench warned: {text.rstrip('.')}." for text in WARNING.findall(stderr)))
