"""What stands beside the numbers of a pgbench run: how it came to them, and what they leave out."""

from __future__ import annotations

from collections.abc import Mapping

from runners.contract import Doubt, Histogram, Measure
from runners.tools.histogram import percentile_us

from . import log as pgbench_log
from . import output
from .log import Reduction


def of_average(stdout: str, measures: Mapping[str, Measure]) -> list[str]:
    """Say how pgbench came to its average: it prints a deviation only where it measured transactions."""
    if "latency_average_ms" not in measures:
        return [output.NO_AVERAGE] if output.has_no_average(stdout) else []
    if "latency_stddev_ms" in measures:
        return [
            "The latency average is of transactions as pgbench timed them one by one, not derived from their number."
        ]
    return ["The latency average is derived (duration x clients / transactions), not measured."]


def of_percentiles(reduction: Reduction | None, histograms: tuple[Histogram, ...], transactions: float) -> list[str]:
    """Say what stands beside the percentiles: sampling, too few transactions, and what they leave out."""
    if reduction is None:
        return []
    remarks = []
    if histograms and histograms[0].sampling_rate < 1:
        counts = f"{histograms[0].total:,} of {transactions:,.0f}"
        remarks.append(f"Percentiles are from {_share_text(histograms[0].sampling_rate)} transactions: {counts}.")
    absent = [
        n
        for n, share in pgbench_log.PERCENTILES.items()
        if not histograms or percentile_us(histograms[0], share) is None
    ]
    if absent:
        remarks.append(f"No {', '.join(absent)}: only {reduction.transactions:,} transactions were logged.")
    left_out = [f"{reduction.kinds[kind]:,} {kind}" for kind in pgbench_log.KINDS if reduction.kinds.get(kind)]
    if left_out:
        remarks.append(f"Percentiles leave out transactions without a latency: {', '.join(left_out)}.")
    return remarks


def _share_text(rate: float) -> str:
    every = round(1 / rate)
    if abs(every * rate - 1) < 1e-6:
        return f"1 of {every:,}"
    return f"{rate:.2%} of"


def doubts(reduction: Reduction | None) -> tuple[Doubt, ...]:
    """Return the doubt that lines of the log cannot be read, where some cannot."""
    unreadable = reduction.kinds.get(pgbench_log.UNREADABLE, 0) if reduction else 0
    if not reduction or not unreadable:
        return ()
    counts = f"{unreadable:,} of the log's {reduction.lines:,} lines"
    text = f"{counts} cannot be read, so percentiles may be incomplete."
    return (Doubt("log-unreadable", text),)
