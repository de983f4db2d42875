"""What the figures of a run draw, as CSV with exact values."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from benchhub.bench.models import LatencyHistogram, Run
from benchhub.ui.csv_cells import harmless

from . import page

SERIES = ("metric", "unit", "second", "value")
LATENCY = ("script", "lowest_us", "below_us", "transactions", "sampling_rate")


def run_series(_request: HttpRequest, pk: int) -> HttpResponse:
    """A line per metric and moment, at the seconds of the page; the warm-up has those below 0."""
    series = get_object_or_404(Run, pk=pk).series.order_by("unit", "metric")
    groups = page.series_groups(list(series))
    return _file(f"run-{pk}-series.csv", SERIES, (line for group in groups for line in _moments(group)))


def run_latency(_request: HttpRequest, pk: int) -> HttpResponse:
    """A line per script and bucket of its histogram that is not empty."""
    histograms = get_object_or_404(Run, pk=pk).histograms.order_by("name")
    return _file(f"run-{pk}-latency.csv", LATENCY, (line for one in histograms for line in _buckets(one)))


def _moments(group: page.SeriesGroup) -> Iterable[Sequence[Any]]:
    for i, metric in enumerate(group.metrics, start=1):
        for row in group.rows:
            if len(row) > i:
                yield metric, group.unit, row[0], row[i]


def _buckets(of: LatencyHistogram) -> Iterable[Sequence[Any]]:
    for lower, upper, count in zip(of.lower_us, of.upper_us, of.counts, strict=True):
        if count:
            yield of.name, lower, upper, count, of.sampling_rate


def _file(name: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    writer = csv.writer(response)
    writer.writerow(heads)
    writer.writerows(map(harmless, row) for row in rows)
    return response
