"""Sweeps of offered rates: what each system held, and the capacity that shows. Their axis is the offered rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from benchhub.analysis import open_loop
from benchhub.analysis.open_loop import Capacity, Offered, Rate
from benchhub.bench.models import Experiment, Run, System

from . import latencies
from .figures import DASHES, Figure, marker
from .latencies import Known


@dataclass(frozen=True, slots=True)
class Sweep:
    """One system's rates. `series` is its place in the experiment; there is at least one rate."""

    system: System
    series: int
    rates: tuple[Rate, ...]
    limit_ms: float

    @property
    def capacity(self) -> Capacity:
        return open_loop.capacity(self.rates)

    @property
    def sentence(self) -> str:
        return self.capacity.sentence(self.limit_ms)


def sweeps(of: Experiment, systems: Sequence[System]) -> list[Sweep]:
    """The systems of an open-loop experiment that have results, in two queries; none of a closed loop."""
    if not of.rates_tps:
        return []
    offered: dict[int, list[Offered]] = {}
    runs = list(results(of))
    known = latencies.of_runs(run.pk for run in runs)
    for run in runs:
        offered.setdefault(run.system_id, []).append(_offered(run, known))
    rates = [(system, series, open_loop.rates(offered.get(system.pk, []))) for series, system in enumerate(systems)]
    return [Sweep(system, series, tuple(own), of.latency_limit_ms) for system, series, own in rates if own]


def results(of: Experiment) -> QuerySet[Run]:
    return of.runs.counted().filter(rate_tps__gt=0).select_related("result").order_by("position")


def _offered(run: Run, known: Known) -> Offered:
    result, value = run.result, {name: measure["value"] for name, measure in run.result.measures.items()}
    return Offered(
        run=run.pk,
        offered_tps=run.rate_tps,
        achieved_tps=result.throughput,
        duration_s=run.spec["duration_s"],
        transactions=round(value.get("transactions", 0)),
        late=round(value.get("late_transactions", 0)),
        skipped=round(value.get("skipped_transactions", 0)),
        latency_average_ms=result.latency_average_ms,
        latency_p95_ms=result.latency_p95_ms,
        latency_p99_ms=result.latency_p99_ms,
        lag_average_ms=value.get("rate_limit_lag_average_ms"),
        doubts=tuple(doubt["text"] for doubt in result.doubts),
        histogram=known.get(run.pk),
    )


def throughput_figure(of: Sequence[Sweep]) -> Figure:
    """What was done of each offered rate, every run a point; the dotted line is where all of it is."""
    highest = max((one.rates[-1].offered_tps for one in of), default=0)
    all_of_it = {
        "type": "scatter", "mode": "lines", "name": "all that was offered", "x": [0, highest], "y": [0, highest],
        "line": {"dash": "dot", "width": 1}, "hoverinfo": "skip", "meta": {"series": 6},
    }  # fmt: skip
    return _figure([all_of_it, *(_trace(one, lambda run: run.achieved_tps, "TPS") for one in of)], "throughput (TPS)")


def latency_figure(of: Sequence[Sweep]) -> Figure:
    traces = [_trace(one, lambda run: run.latency_p99_ms, "ms") for one in of]
    return _figure(traces, "99th percentile of latency, schedule lag included (ms)")


def _figure(traces: list[dict[str, Any]], title: str) -> Figure:
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": "offered rate (TPS)"}, "rangemode": "tozero", "tickformat": ",~f"},
            "yaxis": {"title": {"text": title}, "rangemode": "tozero", "tickformat": ",~f"},
        },
    }


def _trace(of: Sweep, value: Callable[[Offered], float | None], unit: str) -> dict[str, Any]:
    runs = [run for rate in of.rates for run in rate.runs if value(run) is not None]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": of.system.label,
        "x": [run.offered_tps for run in runs],
        "y": [value(run) for run in runs],
        "customdata": [run.run for run in runs],
        "line": {"dash": DASHES[of.series % len(DASHES)], "width": 1.5},
        "marker": {"symbol": f"{marker(of.series)}-open", "size": 8},
        "hovertemplate": f"run %{{customdata}}, %{{x:,}} TPS offered: %{{y:,.4~r}} {unit}<extra></extra>",
        "meta": {"series": of.series},
    }
