"""What the figures of a run draw, as CSV with exact values."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpResponse

from benchhub.bench.models import LatencyHistogram
from benchhub.ui.csv_cells import harmless

from .page import SeriesGroup

SERIES = ("metric", "unit", "second", "value")
LATENCY = ("script", "lowest_us", "below_us", "transactions", "sampling_rate")


def series(run: int, groups: Iterable[SeriesGroup]) -> HttpResponse:
    """Answer with a line per metric and moment."""
    return _file(f"run-{run}-series.csv", SERIES, (line for group in groups for line in _moments(group)))


def latency(run: int, histograms: Iterable[LatencyHistogram]) -> HttpResponse:
    """Answer with a line per script and bucket that is not empty."""
    lines = (line for histogram in histograms for line in _buckets(histogram))
    return _file(f"run-{run}-latency.csv", LATENCY, lines)


def _moments(group: SeriesGroup) -> Iterable[Sequence[Any]]:
    for i, metric in enumerate(group.metrics, start=1):
        for row in group.rows:
            if len(row) > i:
                yield metric, group.unit, row[0], row[i]


def _buckets(histogram: LatencyHistogram) -> Iterable[Sequence[Any]]:
    for lower, upper, count in zip(histogram.lower_us, histogram.upper_us, histogram.counts, strict=True):
        if count:
            yield histogram.name, lower, upper, count, histogram.sampling_rate


def _file(name: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    writer = csv.writer(response)
    writer.writerow(heads)
    writer.writerows(map(harmless, row) for row in rows)
    return response
