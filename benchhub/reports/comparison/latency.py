"""Percentiles of latency of the curves of a comparison: of all transactions of a level's repeats together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from benchhub.analysis.curves.curve import Level
from benchhub.analysis.statistics.spread import round_significant
from benchhub.reports.curves import latencies
from benchhub.reports.curves.figures import client_axes, first_axis, marker
from benchhub.reports.curves.panel import Panel, PanelRow, refused

from .comparison import Chosen

NAME, TITLE = "latencies", "95th and 99th percentile of latency by number of clients"
COLUMNS = (
    "Clients", "System", "Average, ms", "95th percentile, ms", "99th percentile, ms", "Logged transactions", "Runs",
)  # fmt: skip
LEAD = (
    "The latency that 95 and 99 of 100 transactions did not exceed, over all transactions of a level's runs: their "
    "histograms are merged, and no percentile is the mean of others."
)
CLOSED_LOOP = (
    "Clients wait for their answer before they ask again, so an overloaded server slows its own load down: no promise "
    "to users who arrive on their own. A percentile with fewer than 10 logged transactions above it is not shown."
)


def panel(chosen: Sequence[Chosen]) -> Panel | None:
    """None where no run of these curves logged its transactions; a refusal where they are too many."""
    if sum(len(one.runs) for one in chosen) > latencies.MOST_RUNS:
        return refused(NAME, TITLE, latencies.TOO_MANY)
    if not any(level.latencies for one in chosen for level in one.of.curve.levels):
        return None
    rows = sorted((row for one in chosen for row in _rows(one)), key=lambda row: row[0])
    traces = [trace for one in chosen for trace in _traces(one)]
    shown = tuple(PanelRow(row[1]) for row in rows)
    return Panel(NAME, TITLE, (LEAD, CLOSED_LOOP), COLUMNS, shown, _figure(chosen, traces))


def _rows(one: Chosen) -> Iterator[tuple[int, tuple[Any, ...]]]:
    for level in one.of.curve.levels:
        latencies = (level.latency_average_ms, level.latency_p95_ms, level.latency_p99_ms)
        samples = level.latencies.samples if level.latencies else None
        numbers = (*map(_number, latencies), samples, len(level.runs))
        yield level.clients, (level.clients, one.label, *numbers)


def _number(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(round_significant(value, 4)))


def _traces(one: Chosen) -> Iterator[dict[str, Any]]:
    p95 = [(level, level.latency_p95_ms) for level in one.of.curve.levels]
    p99 = [(level, level.latency_p99_ms) for level in one.of.curve.levels]
    yield from _trace(one, p95, "95th", "dash", "")
    yield from _trace(one, p99, "99th", "dot", "-open")


def _trace(
    one: Chosen, of: Sequence[tuple[Level, float | None]], which: str, dash: str, suffix: str
) -> Iterator[dict[str, Any]]:
    known = [(level, value) for level, value in of if value is not None]
    if known:
        yield {
            "type": "scatter",
            "mode": "lines+markers",
            "name": f"{one.label}, {which}",
            "x": [level.clients for level, _ in known],
            "y": [value for _, value in known],
            "text": [level.latencies.words if level.latencies else "as its program printed it" for level, _ in known],
            "line": {"dash": dash, "width": 2},
            "marker": {"symbol": f"{marker(one.of.series)}{suffix}", "size": 8},
            "hovertemplate": "%{x} clients: %{y:,.3~r} ms<br>%{text}<extra>%{fullData.name}</extra>",
            "meta": {"series": one.of.series},
        }


def _figure(chosen: Sequence[Chosen], traces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    levels = sorted({clients for trace in traces for clients in trace["x"]})
    return {
        "data": list(traces),
        "layout": {
            "xaxis": {"title": {"text": "clients"}, **client_axes(levels)[first_axis(one.of for one in chosen)]},
            "yaxis": {"title": {"text": "latency (ms)"}, "rangemode": "tozero", "tickformat": ",~f"},
        },
    }
