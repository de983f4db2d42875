"""Latency histograms of runs, as the analysis merges them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

from benchhub.analysis.curves.latencies import Histogram
from benchhub.bench.models import LatencyHistogram

# What each load generator calls the histogram of all its transactions.
WHOLE = "latency"
# A histogram has some thousand numbers: to read those of more runs than this takes longer than a page may.
MOST_RUNS = 600
TOO_MANY = f"Latencies of more than {MOST_RUNS} runs are not merged on one page, so no percentile is shown."
Known = Mapping[int, Histogram]


def of_runs(runs: Iterable[int]) -> Known:
    """Run -> its latencies, of those that logged any, in one query; nothing of more than MOST_RUNS."""
    wanted = list(runs)
    if len(wanted) > MOST_RUNS:
        return {}
    rows = LatencyHistogram.objects.filter(run__in=wanted, name=WHOLE)
    return {row.run_id: plain(row) for row in rows.iterator(chunk_size=100)}


def plain(of: LatencyHistogram) -> Histogram:
    """Its numbers packed: as objects of Python they take four times the memory."""
    lower_us, upper_us, counts = (array("q", numbers) for numbers in (of.lower_us, of.upper_us, of.counts))
    return Histogram(lower_us, upper_us, counts, of.min_us, of.max_us, of.sampling_rate)
