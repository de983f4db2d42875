"""Percentiles of latency of the curves of a comparison: of all transactions of a level's repeats together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from benchhub.analysis.curves.curve import Level
from benchhub.analysis.words import round_significant
from benchhub.reports.comparison.entries import Entries, Entry
from benchhub.reports.curves import latencies, looks
from benchhub.reports.curves.figures import client_axes, first_axis
from benchhub.reports.curves.panel import Panel, PanelRow, refused

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


def panel(entries: Entries) -> Panel | None:
    """Draw percentiles of latency; None where no run logged its transactions, a refusal for too many runs."""
    if sum(len(entry.runs) for entry in entries) > latencies.MOST_RUNS:
        return refused(NAME, TITLE, latencies.TOO_MANY)
    if not any(level.latencies for entry in entries for level in entry.curve.levels):
        return None
    rows = sorted((row for entry in entries for row in _rows(entry)), key=lambda row: row[0])
    traces = [trace for entry in entries for trace in _traces(entry)]
    panel_rows = tuple(PanelRow(row[1]) for row in rows)
    return Panel(NAME, TITLE, (LEAD, CLOSED_LOOP), COLUMNS, panel_rows, _figure(entries, traces))


def _rows(entry: Entry) -> Iterator[tuple[int, tuple[Any, ...]]]:
    for level in entry.curve.levels:
        latencies = (level.latency_average_ms, level.latency_p95_ms, level.latency_p99_ms)
        cells = [None if value is None else Decimal(str(round_significant(value, 4))) for value in latencies]
        samples = level.latencies.samples if level.latencies else None
        yield level.clients, (level.clients, entry.label, *cells, samples, len(level.runs))


def _traces(entry: Entry) -> Iterator[dict[str, Any]]:
    p95 = [(level, level.latency_p95_ms) for level in entry.curve.levels]
    p99 = [(level, level.latency_p99_ms) for level in entry.curve.levels]
    yield from _trace(entry, p95, "95th", "dash", "")
    yield from _trace(entry, p99, "99th", "dot", "-open")


def _trace(
    entry: Entry, points: Sequence[tuple[Level, float | None]], percentile: str, dash: str, suffix: str
) -> Iterator[dict[str, Any]]:
    measured = [(level, value) for level, value in points if value is not None]
    if measured:
        yield {
            "type": "scatter",
            "mode": "lines+markers",
            "name": f"{entry.label}, {percentile}",
            "x": [level.clients for level, _ in measured],
            "y": [value for _, value in measured],
            "text": [
                level.latencies.words if level.latencies else "as its program printed it" for level, _ in measured
            ],
            "line": {"dash": dash, "width": 2},
            "marker": {"symbol": f"{looks.marker(entry.series)}{suffix}", "size": 8},
            "hovertemplate": "%{x} clients: %{y:,.3~r} ms<br>%{text}<extra>%{fullData.name}</extra>",
            "meta": {"series": entry.series},
        }


def _figure(entries: Entries, traces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    levels = sorted({clients for trace in traces for clients in trace["x"]})
    return {
        "data": list(traces),
        "layout": {
            "xaxis": {"title": {"text": "clients"}, **client_axes(levels)[first_axis(entries)]},
            "yaxis": {"title": {"text": "latency (ms)"}, "rangemode": "tozero", "tickformat": ",~f"},
        },
    }
