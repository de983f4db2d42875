"""The segments of a load shape, each with its plan, its throughput and its response times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchhub.bench.models import LatencyHistogram, Result
from runners import tools
from runners.contract import SEGMENT

from ..latency import percentiles_of

HEADS = (
    "segment", "from_s", "to_s", "planned_tps", "offered_tps", "achieved_tps", "logged", "p50_ms", "p95_ms", "p99_ms",
    "lag_average_ms", "lag_max_ms", "skipped",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """One segment, from where to where in the run. None is not known: nothing was logged, or too little."""

    number: int
    start_s: int
    end_s: int
    planned_tps: int
    offered_tps: float | None
    achieved_tps: float | None
    logged: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    lag_average_ms: float | None
    lag_max_ms: float | None
    skipped: float | None

    @property
    def cells(self) -> tuple[Any, ...]:
        """Return its values in the order of HEADS."""
        return tuple(getattr(self, name) for name in self.__slots__)


def segment_rows(result: Result, histograms: Sequence[LatencyHistogram], spec: Mapping[str, Any]) -> list[SegmentRow]:
    """Return the segments in their order; empty for a load that stays the same."""
    planned = tools.get(spec["tool"]).planned_segments(spec.get("parameters") or {})
    by_name = {histogram.name: histogram for histogram in histograms}
    rows, start_s = [], 0
    for number, segment in enumerate(planned, start=1):
        histogram = by_name.get(f"latency of segment {number}")
        end_s = start_s + segment.duration_s
        rows.append(_row(number, (start_s, end_s), segment.rate_tps, result.measures, histogram))
        start_s = end_s
    return rows


def _row(
    number: int,
    span_s: tuple[int, int],
    planned_tps: int,
    measures: Mapping[str, Any],
    histogram: LatencyHistogram | None,
) -> SegmentRow:
    def value(name: str) -> float | None:
        measure = measures.get(f"{SEGMENT}{number}_{name}")
        return None if measure is None else float(measure["value"])

    percentiles = dict(percentiles_of(histogram).values) if histogram else {}
    return SegmentRow(
        number,
        *span_s,
        planned_tps,
        value("offered_tps"),
        value("achieved_tps"),
        sum(histogram.counts) if histogram else 0,
        percentiles.get("p50"),
        percentiles.get("p95"),
        percentiles.get("p99"),
        value("lag_average_ms"),
        value("lag_max_ms"),
        value("skipped"),
    )
