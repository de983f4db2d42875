"""Percentiles of a run's latencies, by script and by type of transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchhub.bench.models import LatencyHistogram, Result
from runners.contract import Histogram
from runners.tools.histogram import percentile_us

from . import figures, types

LABELS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Latency of one script. `values` are (label, milliseconds), None where too few samples lie above."""

    name: str
    samples: int
    sampling_rate: float
    mean_ms: float
    lowest_ms: float
    highest_ms: float
    values: tuple[tuple[str, float | None], ...]

    @property
    def sampled_percent(self) -> str:
        return f"{100 * self.sampling_rate:.3g}"


def percentiles_of(row: LatencyHistogram) -> Percentiles:
    histogram = _histogram(row)
    values = ((label, percentile_us(histogram, share)) for label, share in LABELS.items())
    return Percentiles(
        name=figures.script_title(row.name),
        samples=histogram.total,
        sampling_rate=row.sampling_rate,
        mean_ms=row.sum_us / histogram.total / 1000,
        lowest_ms=row.min_us / 1000,
        highest_ms=row.max_us / 1000,
        values=tuple((label, None if value is None else value / 1000) for label, value in values),
    )


def type_rows(
    result: Result, histograms: Sequence[LatencyHistogram], spec: Mapping[str, Any]
) -> list[tuple[types.Type, dict[str, float | None]]]:
    """Return each type of transaction with its percentiles by label, in milliseconds."""
    unknown: dict[str, float | None] = dict.fromkeys(LABELS)
    rows = types.types(result.measures, histograms, spec)
    return [(row, dict(percentiles_of(row.histogram).values) if row.histogram else unknown) for row in rows]


def _histogram(row: LatencyHistogram) -> Histogram:
    return Histogram(
        name=row.name,
        lower_us=tuple(row.lower_us),
        upper_us=tuple(row.upper_us),
        counts=tuple(row.counts),
        sum_us=row.sum_us,
        min_us=row.min_us,
        max_us=row.max_us,
        sampling_rate=row.sampling_rate,
    )
