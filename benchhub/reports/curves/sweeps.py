"""Sweeps of offered rates: the rates that each system held, and its capacity. Their axis is the offered rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from benchhub.analysis.curves import open_loop
from benchhub.analysis.curves.open_loop import Capacity, Offered, Rate
from benchhub.bench.models import Experiment, Run, System

from . import latencies
from .figures import DASHES, Figure, marker
from .latencies import HistogramByRun


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


@dataclass(frozen=True, slots=True)
class Quantity:
    """The quantity on the y axis: its value for a run, and for all runs of a rate; None where it is not known."""

    unit: str
    of_run: Callable[[Offered], float | None]
    of_rate: Callable[[Rate], float | None]


def _p99_ms(rate: Rate) -> float | None:
    return rate.runs[0].latency_p99_ms if len(rate.runs) == 1 else rate.latency_p99_ms


DONE = Quantity("TPS", lambda run: run.achieved_tps, lambda rate: rate.achieved.median)
LATENCY = Quantity("ms", lambda run: run.latency_p99_ms, _p99_ms)


def sweeps(experiment: Experiment, systems: Sequence[System]) -> list[Sweep]:
    """Return a sweep for each system with results, in two queries; empty for an experiment of a closed loop."""
    if not experiment.rates_tps:
        return []
    offered: dict[int, list[Offered]] = {}
    runs = list(results(experiment))
    histograms = latencies.of_runs(run.pk for run in runs)
    for run in runs:
        offered.setdefault(run.system_id, []).append(_offered(run, histograms))
    return [
        Sweep(system, series, tuple(rates), experiment.latency_limit_ms)
        for series, system in enumerate(systems)
        if (rates := open_loop.rates(offered.get(system.pk, [])))
    ]


def results(experiment: Experiment) -> QuerySet[Run]:
    return experiment.runs.counted().filter(rate_tps__gt=0).select_related("result").order_by("position")


def _offered(run: Run, histograms: HistogramByRun) -> Offered:
    result, values = run.result, {name: measure["value"] for name, measure in run.result.measures.items()}
    return Offered(
        run=run.pk,
        offered_tps=run.rate_tps,
        achieved_tps=result.throughput,
        duration_s=run.spec["duration_s"],
        transactions=round(values.get("transactions", 0)),
        late=round(values.get("late_transactions", 0)),
        skipped=round(values.get("skipped_transactions", 0)),
        latency_average_ms=result.latency_average_ms,
        latency_p95_ms=result.latency_p95_ms,
        latency_p99_ms=result.latency_p99_ms,
        lag_average_ms=values.get("rate_limit_lag_average_ms"),
        doubts=tuple(doubt["text"] for doubt in result.doubts),
        histogram=histograms.get(run.pk),
    )


def throughput_figure(sweeps: Sequence[Sweep]) -> Figure:
    """Draw achieved against offered rates: every run a point, a line through the medians.

    A dotted line shows where all that was offered is achieved.
    """
    highest = max((sweep.rates[-1].offered_tps for sweep in sweeps), default=0)
    offered = {
        "type": "scatter", "mode": "lines", "name": "all that was offered", "x": [0, highest], "y": [0, highest],
        "line": {"dash": "dot", "width": 1}, "hoverinfo": "skip", "meta": {"series": 6},
    }  # fmt: skip
    return _figure([offered, *(trace for sweep in sweeps for trace in _traces(sweep, DONE))], "throughput (TPS)")


def latency_figure(sweeps: Sequence[Sweep]) -> Figure:
    """Draw every run as a point, and a line through the percentiles of all transactions of each rate's runs."""
    traces = [trace for sweep in sweeps for trace in _traces(sweep, LATENCY)]
    return _figure(traces, "99th percentile, lag included (ms)")


def _figure(traces: list[dict[str, Any]], title: str) -> Figure:
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": "offered rate (TPS)"}, "rangemode": "tozero", "tickformat": ",~f"},
            "yaxis": {"title": {"text": title}, "rangemode": "tozero", "tickformat": ",~f"},
        },
    }


def _traces(sweep: Sweep, quantity: Quantity) -> list[dict[str, Any]]:
    runs = [run for rate in sweep.rates for run in rate.runs if quantity.of_run(run) is not None]
    line = [(rate.offered_tps, value) for rate in sweep.rates if (value := quantity.of_rate(rate)) is not None]
    shared = {"type": "scatter", "legendgroup": f"series {sweep.series}", "meta": {"series": sweep.series}}
    runs_trace = {
        **shared,
        "mode": "markers",
        "name": f"{sweep.system.label}, each run",
        "showlegend": False,
        "x": [run.offered_tps for run in runs],
        "y": [quantity.of_run(run) for run in runs],
        "customdata": [run.run for run in runs],
        "marker": {"symbol": f"{marker(sweep.series)}-open", "size": 8},
        "hovertemplate": f"run %{{customdata}}, %{{x:,}} TPS offered: %{{y:,.4~r}} {quantity.unit}<extra></extra>",
    }
    line_trace = {
        **shared,
        "mode": "lines",
        "name": sweep.system.label,
        "x": [offered for offered, _ in line],
        "y": [value for _, value in line],
        "line": {"dash": DASHES[sweep.series % len(DASHES)], "width": 1.5},
        "hoverinfo": "skip",
    }
    return [runs_trace, line_trace]
