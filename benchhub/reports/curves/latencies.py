"""Latency histograms of runs, as the analysis merges them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

from benchhub.analysis.curves.latencies import Histogram
from benchhub.bench.models import LatencyHistogram

# The name that each load generator gives to the histogram of all its transactions.
WHOLE = "latency"
# A histogram has some thousand numbers: to read those of more runs than this takes longer than a page may.
MOST_RUNS = 600
TOO_MANY = f"Latencies of more than {MOST_RUNS} runs are not merged on one page, so no percentile is shown."
HistogramByRun = Mapping[int, Histogram]


def of_runs(runs: Iterable[int]) -> HistogramByRun:
    """Return the latencies by run, of runs that logged any, in one query; empty for more than MOST_RUNS runs."""
    run_ids = list(runs)
    if len(run_ids) > MOST_RUNS:
        return {}
    rows = LatencyHistogram.objects.filter(run__in=run_ids, name=WHOLE)
    return {row.run_id: plain(row) for row in rows.iterator(chunk_size=100)}


def plain(row: LatencyHistogram) -> Histogram:
    """Return the histogram with its numbers packed: as objects of Python they take four times the memory."""
    lower_us, upper_us, counts = (array("q", numbers) for numbers in (row.lower_us, row.upper_us, row.counts))
    return Histogram(lower_us, upper_us, counts, row.min_us, row.max_us, row.sampling_rate)
