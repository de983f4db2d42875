"""Files of a run as answers that browsers save: its evidence, its bundle, and what its figures draw as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from benchhub.bench.models import Evidence, LatencyHistogram, Run
from benchhub.ui.csv_files import download_rows

from . import bundle as bundles
from .series import SeriesGroup
from .timeline.panels import Timeline
from .timeline.segments import HEADS, SegmentRow

SERIES = ("metric", "unit", "second", "value")
TELEMETRY = ("panel", "metric", "unit", "second", "value", "source")
LATENCY = ("script", "lowest_us", "below_us", "transactions", "sampling_rate")


def evidence(file: Evidence) -> HttpResponse:
    """Answer with a file as it came from the target: plain text, whatever it holds. Reads its attempt.

    Raises ArchiveError where the archive should have it, and does not.
    """
    name = f"run-{file.attempt.run_id}-{file.name.replace('/', '-')}"
    response = HttpResponse(file.read(), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(True, name) or ""
    response["X-Content-Type-Options"] = "nosniff"
    return response


def bundle(run: Run) -> HttpResponse:
    """Answer with what repeats the run without BenchHub, and the evidence of its last attempt.

    Raises NoBundleError.
    """
    files = bundles.with_evidence(run, run.found.settings if hasattr(run, "found") else None)
    name = f"benchhub-run-{run.pk}"
    headers = {"Content-Disposition": f'attachment; filename="{name}.tar.gz"'}
    return HttpResponse(bundles.archive(name, files), content_type="application/gzip", headers=headers)


def series(run: int, groups: Iterable[SeriesGroup]) -> HttpResponse:
    """Answer with a line per metric and moment."""
    return download_rows(f"run-{run}-series.csv", SERIES, (line for group in groups for line in _moments(group)))


def telemetry(run: int, timeline: Timeline) -> HttpResponse:
    """Answer with a line per metric and moment of load, machine and server."""
    lines = (
        (source.panel, source.name, source.unit, round((i + 1) * source.step_s, 6), value, source.origin)
        for source in timeline.sources
        for i, value in enumerate(source.values)
    )
    return download_rows(f"run-{run}-telemetry.csv", TELEMETRY, lines)


def latency(run: int, histograms: Iterable[LatencyHistogram]) -> HttpResponse:
    """Answer with a line per script and bucket that is not empty."""
    lines = (
        (histogram.name, lower, upper, count, histogram.sampling_rate)
        for histogram in histograms
        for lower, upper, count in zip(histogram.lower_us, histogram.upper_us, histogram.counts, strict=True)
        if count
    )
    return download_rows(f"run-{run}-latency.csv", LATENCY, lines)


def segments(run: int, rows: Iterable[SegmentRow]) -> HttpResponse:
    """Answer with a line per segment of a load shape."""
    return download_rows(f"run-{run}-segments.csv", HEADS, (row.cells for row in rows))


def _moments(group: SeriesGroup) -> Iterable[Sequence[Any]]:
    for i, metric in enumerate(group.metrics, start=1):
        for row in group.rows:
            if len(row) > i:
                yield metric, group.unit, row[0], row[i]
