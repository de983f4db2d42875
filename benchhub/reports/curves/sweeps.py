"""Sweeps of offered rates: the rates that each system held, and its capacity. Their axis is the offered rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, FloatField
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast

from benchhub.analysis.curves import open_loop
from benchhub.analysis.curves.open_loop import Capacity, Offered, Rate
from benchhub.analysis.words import count, word
from benchhub.bench.models import Experiment, Run, System, levels

from . import latencies, looks
from .figures import Figure
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

    @property
    def left_out_text(self) -> str:
        """Say how many older runs are in none of its rates; empty where all are."""
        older = sum(rate.left_out for rate in self.rates)
        if not older:
            return ""
        runs_text = f"{count(older, 'older run')} {word('is', older, 'are')}"
        return f"{runs_text} in the list of runs alone: a rate is made of its newest {levels.MOST_REPEATS}."


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
    """Return a sweep for each system with results, in three queries; empty for an experiment of a closed loop."""
    if not experiment.rates_tps:
        return []
    offered: dict[int, list[Offered]] = {}
    runs = _results(experiment)
    histograms = latencies.of_runs(run["pk"] for run in runs)
    for run in runs:
        offered.setdefault(run["system_id"], []).append(_offered(run, histograms))
    return [
        Sweep(system, series, tuple(rates), experiment.latency_limit_ms)
        for series, system in enumerate(systems)
        if (rates := open_loop.rates(offered.get(system.pk, [])))
    ]


def _results(experiment: Experiment) -> list[dict[str, Any]]:
    """Return the newest runs of each rate as columns, with how many older ones of it are left out."""
    rows = experiment.runs.filter(levels.ENDED_WELL, rate_tps__gt=0).order_by().values_list(*levels.LEVEL)
    numbers = {tuple(key): number for *key, number in rows.annotate(Count("pk"))}
    runs = Run.objects.counted().filter(levels.among(levels.newest_keys(numbers))).order_by("position")
    values = runs.values("pk", *levels.LEVEL, *RESULT, duration_s=DURATION_S, **MEASURES)
    return [{**row, "left_out": _left_out(numbers[tuple(row[name] for name in levels.LEVEL)])} for row in values]


def _left_out(number: int) -> int:
    return max(0, number - levels.MOST_REPEATS)


def _measure(name: str) -> Cast:
    return Cast(KeyTextTransform("value", KeyTransform(name, "result__measures")), FloatField())


# Specs and measures are long, and few of their values are on a page.
RESULT = tuple(
    f"result__{name}" for name in ("throughput", "latency_average_ms", "latency_p95_ms", "latency_p99_ms", "doubts")
)
DURATION_S = Cast(KeyTextTransform("duration_s", "spec"), FloatField())
MEASURES = {
    "transactions": _measure("transactions"),
    "late": _measure("late_transactions"),
    "skipped": _measure("skipped_transactions"),
    "lag_average_ms": _measure("rate_limit_lag_average_ms"),
}


def _offered(run: Mapping[str, Any], histograms: HistogramByRun) -> Offered:
    return Offered(
        run=run["pk"],
        offered_tps=run["rate_tps"],
        achieved_tps=run["result__throughput"],
        duration_s=run["duration_s"],
        transactions=round(run["transactions"] or 0),
        late=round(run["late"] or 0),
        skipped=round(run["skipped"] or 0),
        latency_average_ms=run["result__latency_average_ms"],
        latency_p95_ms=run["result__latency_p95_ms"],
        latency_p99_ms=run["result__latency_p99_ms"],
        lag_average_ms=run["lag_average_ms"],
        doubts=tuple(doubt["text"] for doubt in run["result__doubts"]),
        histogram=histograms.get(run["pk"]),
        protocol_digest=run["protocol_id"],
        left_out=run["left_out"],
    )


def throughput_figure(sweeps: Sequence[Sweep]) -> Figure:
    """Draw achieved against offered rates: every run a point, a line through the medians.

    A dotted line shows where all that was offered is achieved.
    """
    highest = max((sweep.rates[-1].offered_tps for sweep in sweeps), default=0)
    offered = {
        "type": "scatter", "mode": "lines", "name": "all that was offered", "x": [0, highest], "y": [0, highest],
        "line": {"dash": "dot", "width": 1}, "hoverinfo": "skip", "meta": {"series": looks.GREY},
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
        "marker": {"symbol": f"{looks.marker(sweep.series)}-open", "size": 8},
        "hovertemplate": f"run %{{customdata}}, %{{x:,}} TPS offered: %{{y:,.4~r}} {quantity.unit}<extra></extra>",
    }
    line_trace = {
        **shared,
        "mode": "lines",
        "name": sweep.system.label,
        "x": [offered for offered, _ in line],
        "y": [value for _, value in line],
        "line": {"dash": looks.dash(sweep.series), "width": 1.5},
        "hoverinfo": "skip",
    }
    return [runs_trace, line_trace]
