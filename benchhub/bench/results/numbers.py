"""Gather the numbers of a result that must agree, for the audit. Knows no database."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from benchhub.analysis.doubts.evidence import Evidence, Shape
from runners import tools
from runners.contract import Histogram, RunResult, RunSpec
from runners.tools.claims import Version

PERCENTILE = re.compile(r"latency_p([1-9][0-9]?)_ms")
FAILURES = ("serialization_failures", "deadlock_failures")
RATE_ROUNDING, LATENCY_ROUNDING_MS = 0.05, 0.0005
# Of pgbench: those before leave a thread's share of connecting out of TPS, and those after it a client's.
LEAVES_OUT_UNKNOWN = (9, 5)
# Of pgbench 19 and newer, with --continue-on-error.
OTHER_FAILURES = "other_failures"
# Of the highest rate: with less a second of the warm-up may be one in which the clients stood still.
LOW_SHARE = 0.1


def evidence(spec: RunSpec, result: RunResult, xact_commit_growth: int | None = None) -> Evidence:
    """Return the numbers of the run: asked for, printed, logged, and counted by the server."""
    values = {name: measure.value for name, measure in result.measures.items()}
    tool = tools.get(spec.tool)
    expectation = tool.expectation(spec.parameters)
    version = Version.read(spec.tool_version)
    rates = next((series.numbers for series in result.series if series.metric == "tps"), ())
    return Evidence(
        clients=spec.clients,
        threads=spec.threads,
        # A run of a number of transactions has no duration that it was to keep to.
        duration_s=values.get("measured_s", None if "planned_transactions" in values else spec.duration_s or None),
        duration_is_planned="measured_s" not in values,
        planned_s=spec.duration_s or None,
        tps=values[tool.unit.lower()],
        tps_including=values.get("tps_including"),
        tps_excluding=values.get("tps_excluding"),
        leaves_out_by_thread=leaves_out_by_thread(version.numbers if version else ()),
        initial_connection_time_ms=values.get("initial_connection_time_ms", 0.0),
        log_sampling_rate=_logged_share(spec, result),
        xact_commit_growth=xact_commit_growth,
        commits_per_transaction=expectation.commits_per_transaction,
        rate_rounding=expectation.rate_rounding,
        report_rounding_s=expectation.report_rounding_s,
        rate_limited=expectation.is_rate_limited,
        connect_each=expectation.connects_each,
        connection_time_ms=values.get("average_connection_time_ms"),
        pause_average_ms=values.get("think_average_ms", 0.0),
        longest_pause_ms=expectation.longest_pause_ms,
        progress=() if result.has_late_reports else rates,
        progress_busy_s=() if result.has_late_reports else _busy_s(result, tool.unit.lower()),
        stalled_before_s=_stalled_before_s(result, tool.unit.lower()) if tool.continues_warmup else 0.0,
        **_counts(values),
        **_latencies(spec, result, values, expectation.average_latency),
    )


def _logged_share(spec: RunSpec, result: RunResult) -> float:
    """Return the share of transactions in the log: the driver may have chosen another than was planned."""
    return result.histograms[0].sampling_rate if result.histograms else spec.log_sampling_rate


def _busy_s(result: RunResult, rate_name: str) -> list[float]:
    """Return for each second how long its transactions took together at least, refused ones too where they are apart.

    The rate is printed to a tenth: of transactions that take seconds that may be as much as a client. Latencies are
    printed to a us, which may be as much as one of a script without a statement.
    """
    lines = {series.metric: series.numbers for series in result.series}
    latencies = lines.get("latency_of_all_ms", lines.get("latency_ms", ()))
    refused = lines.get("refused_writes", (0.0,) * len(latencies))
    seconds = zip(lines.get(rate_name, ()), refused, latencies, strict=False)
    return [
        max(0.0, rate + refused_rate - RATE_ROUNDING) * max(0.0, latency_ms - LATENCY_ROUNDING_MS) / 1000
        for rate, refused_rate, latency_ms in seconds
    ]


def _stalled_before_s(result: RunResult, rate_name: str) -> float:
    """Return how long the clients may have stood still just before the first measured second, within the warm-up.

    Transactions that waited there end in that second, with all of that in their latencies: by the share of the highest
    rate that each of the last seconds lacks, back to one that was not low.
    """
    lines = {series.metric: series.numbers for series in result.series}
    before = lines.get(f"warmup_{rate_name}", ())
    peak = max((*before, *lines.get(rate_name, ())), default=0.0)
    if not peak:
        return float(len(before))
    return sum(1 - rate / peak for rate in takewhile(lambda rate: rate < LOW_SHARE * peak, reversed(before)))


def _counts(values: Mapping[str, float]) -> dict[str, Any]:
    names = (
        "transactions", "logged_transactions", "retried_transactions", "retries", "late_transactions",
        "planned_transactions", "skipped_transactions",
    )  # fmt: skip
    counts: dict[str, Any] = {name: round(values[name]) for name in names if name in values}
    counts["failed_transactions"] = round(values.get("failed_transactions", 0))
    if all(name in values for name in FAILURES):
        counts["failures_by_kind"] = [round(values[name]) for name in (*FAILURES, OTHER_FAILURES) if name in values]
    return counts


def _latencies(spec: RunSpec, result: RunResult, values: Mapping[str, float], average: str) -> dict[str, Any]:
    is_timed = average == "timed" or "latency_stddev_ms" in values
    is_whole = result.histograms and _logged_share(spec, result) == 1
    shape = _shape(result.histograms[0]) if is_whole and average else None
    return {
        "latency_average_ms": values.get("latency_average_ms"),
        "latency_is_derived": not is_timed,
        "average_is_of_clients": average == "of clients" and not is_timed,
        "logged_latency_average_ms": values.get("logged_latency_average_ms"),
        "latency_stddev_ms": values.get("latency_stddev_ms"),
        "latency_sum_ms": values.get("latency_sum_ms"),
        "latency_min_ms": values.get("latency_min_ms", shape.lowest_ms if shape else None),
        "latency_max_ms": values.get("latency_max_ms", shape.highest_ms if shape else None),
        "percentiles_ms": {int(name[1]) / 100: values[name[0]] for name in map(PERCENTILE.fullmatch, values) if name},
        "histogram": shape,
        "lag_average_ms": values.get("rate_limit_lag_average_ms"),
        "lag_max_ms": values.get("rate_limit_lag_max_ms"),
    }


def _shape(histogram: Histogram) -> Shape | None:
    """Return the histogram in four numbers, from the bins alone, as if sum and ends were not known."""
    if not histogram.total:
        return None
    bins = list(zip(histogram.lower_us, histogram.upper_us, histogram.counts, strict=True))
    middles = [((lower + upper - 1) / 2, count) for lower, upper, count in bins]
    average_us = sum(middle * count for middle, count in middles) / histogram.total
    variance = sum((middle - average_us) ** 2 * count for middle, count in middles) / histogram.total
    filled = [middle for middle, count in middles if count]
    error = max((upper - lower - 1) / (lower + upper) for lower, upper, _ in bins if upper > lower)
    ends = filled[0] / 1000, filled[-1] / 1000
    return Shape(histogram.total, average_us / 1000, math.sqrt(variance) / 1000, *ends, min(0.05, error))


def leaves_out_by_thread(numbers: tuple[int, ...]) -> bool | None:
    """Tell whether a version of pgbench leaves a thread's share of connecting out of TPS, not a client's.

    None of no version, and of 9.5: releases before and after it are known to differ.
    """
    if not numbers or numbers[:2] == LEAVES_OUT_UNKNOWN:
        return None
    return numbers < LEAVES_OUT_UNKNOWN
