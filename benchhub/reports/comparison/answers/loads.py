"""Percentiles of latency, and two figures for load generators that tell types of transaction apart: throughput relative
to the baseline at two levels, and the 90th percentile of response times by type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from benchhub.analysis.curves import latencies, ratio
from benchhub.analysis.curves.latencies import Histogram
from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.words import count, listing, round_significant
from benchhub.bench.models import LatencyHistogram
from benchhub.reports.comparison.entries import Entries, Entry
from benchhub.reports.curves.bars import Reach, bars, of_ratio
from benchhub.reports.curves.latencies import plain
from benchhub.reports.curves.panel import Panel, PanelRow

from . import latency
from .levels import Cell, Row

LOADS, TYPES = "loads", "types"
SHARE = 0.9
BY_INTERVAL = (
    "It is the ratio of the geometric means; with three repeats or more on both sides the line with caps on a "
    "bar is its 95% interval."
)
BY_RANGE = (
    "With fewer repeats than three on a side the ratio is not tested; the dotted line on a bar goes from the worst "
    "repeat over the baseline's best to the best over its worst."
)
RELATIVE = (
    "Clients",
    "System",
    "Geometric mean, {}",
    "Times the baseline, with its interval",
    "Verdict",
    "Runs",
)
PATTERNS = ("", "/", ".", "x", "\\", "+", "-")


def panels(entries: Entries, rows: Sequence[Row]) -> list[Panel]:
    """Draw percentiles of latency, and two more figures where types of transaction are told apart.

    `rows` are the levels of the curves.
    """
    percentiles_by_level = latency.panel(entries)
    return [*_of_types(entries, rows), *([percentiles_by_level] if percentiles_by_level else [])]


def _of_types(entries: Entries, rows: Sequence[Row]) -> list[Panel]:
    if not entries.transactions:
        return []
    common = [row for row in rows if all(row.cells)]
    if not common:
        return [Panel(LOADS, "Two levels", refusal="There is no number of clients at which each of these was run.")]
    lowest_and_highest = [common[0], *common[1:][-1:]]
    return [relative(entries, lowest_and_highest), percentiles(entries, common[-1].clients)]


def relative(entries: Entries, rows: Sequence[Row]) -> Panel:
    """Draw bars at the lowest and the highest number of clients at which each curve was measured."""
    bar_traces = [trace for place, entry in enumerate(entries) for trace in _bars(entry, _ratios(place, rows))]
    labels = [_labels(entry, _ratios(place, rows)) for place, entry in enumerate(entries)]
    panel_rows = [_relative_row(cell) for row in rows for cell in row.cells if cell]
    loads = listing(f"{row.clients:,}" for row in rows)
    lead = f"Throughput at {loads} clients, as a multiple of the baseline's there."
    figure = _figure([*bar_traces, *labels], "", "times the baseline")
    figure["layout"]["scattermode"] = "group"  # each label above the bar that has its offsetgroup
    columns = tuple(column.format(entries.unit) for column in RELATIVE)
    return Panel(LOADS, "Relative throughput at two levels", (lead, _which(rows)), columns, tuple(panel_rows), figure)


def _relative_row(cell: Cell) -> PanelRow:
    level, spread = cell.level, cell.level.throughput
    times = ratio.times(1) if cell.is_baseline else cell.times or "–"
    verdict = "baseline" if cell.is_baseline else cell.ratio.verdict if cell.ratio else "–"
    return PanelRow((level.clients, cell.entry.label, _number(spread.mean), times, verdict, spread.n))


def _which(rows: Sequence[Row]) -> str:
    """Say which numbers are divided, and what the lines on the bars mean."""
    ratios = [cell.ratio for row in rows for cell in row.cells if cell and cell.ratio and not cell.is_baseline]
    kinds = {ratio.is_tested: BY_INTERVAL if ratio.is_tested else BY_RANGE for ratio in ratios if not ratio.withheld}
    is_withheld = any(ratio.withheld for ratio in ratios)
    withheld_text = " Without intervals: the order of the runs allows none." if is_withheld else ""
    return " ".join(kinds[key] for key in sorted(kinds, reverse=True)) + withheld_text


def _ratios(place: int, rows: Sequence[Row]) -> list[tuple[int, Cell, Ratio]]:
    cells = ((row.clients, row.cells[place]) for row in rows)
    return [(clients, cell, cell.ratio) for clients, cell in cells if cell and cell.ratio]


def _bounds(cell: Cell, ratio: Ratio) -> tuple[float, float]:
    """Return the interval of a ratio; the baseline has none, as it is 1 by definition."""
    return ratio.bounds if ratio.bounds and not cell.is_baseline else (ratio.value, ratio.value)


def _bars(entry: Entry, ratios: Sequence[tuple[int, Cell, Ratio]]) -> list[dict[str, Any]]:
    values = [cell_ratio.value for *_, cell_ratio in ratios]
    trace = {
        **_bar(entry),
        "offsetgroup": str(entry.series),
        "legendgroup": str(entry.series),
        "x": [_at(clients) for clients, *_ in ratios],
        "y": values,
        "customdata": [ratio.times(value) for value in values],
        "hovertemplate": "%{x}: %{customdata}<extra>%{fullData.name}</extra>",
    }
    # The baseline is 1 by definition.
    reaches = [Reach(1, 1, 1) if cell.is_baseline else of_ratio(cell_ratio) for _, cell, cell_ratio in ratios]
    return bars(trace, reaches)


def _labels(entry: Entry, ratios: Sequence[tuple[int, Cell, Ratio]]) -> dict[str, Any]:
    """Draw labels above the lines on the bars: lines would run through labels at the top, and hatching hide them."""
    return {
        "type": "scatter",
        "mode": "text",
        "name": entry.label,
        "offsetgroup": str(entry.series),
        "legendgroup": str(entry.series),
        "showlegend": False,
        "x": [_at(clients) for clients, *_ in ratios],
        "y": [_bounds(cell, cell_ratio)[1] for _, cell, cell_ratio in ratios],
        "text": [ratio.times(cell_ratio.value) for *_, cell_ratio in ratios],
        "textposition": "top center",
        "cliponaxis": False,
        "hoverinfo": "skip",
        "meta": {"series": entry.series},
    }


def percentiles(entries: Entries, clients: int) -> Panel:
    """Draw the percentile of each type over all transactions of the repeats, from their merged histograms."""
    by_type = _merged(entries, clients)
    rows = [
        PanelRow((name, entry.label, _number(by_type[entry.key, name] / 1000), _run_count(entry, clients)))
        for name in entries.transactions
        for entry in entries
        if (entry.key, name) in by_type
    ]
    title = f"90th percentile of response times by type, at {_at(clients)}"
    if not rows:
        return Panel(TYPES, title, refusal="No response times by type are known at this number of clients.")
    leads = ["Nine of ten transactions of a type that count took at most so long, over all runs together."]
    if missing := [name for name in entries.transactions if any((entry.key, name) not in by_type for entry in entries)]:
        leads.append(f"Too few were logged, or none was run, for each system to have: {', '.join(missing)}.")
    bar_traces = [_latency_bars(entry, by_type, entries.transactions) for entry in entries]
    columns = ("Type", "System", "90th percentile, ms", "Runs")
    return Panel(TYPES, title, tuple(leads), columns, tuple(rows), _figure(bar_traces, "", "90th percentile (ms)"))


def _latency_bars(entry: Entry, by_type: dict[tuple[str, str], float], transactions: Sequence[str]) -> dict[str, Any]:
    names = [name for name in transactions if (entry.key, name) in by_type]
    return {
        **_bar(entry),
        "x": list(map(_words, names)),
        "y": [by_type[entry.key, name] / 1000 for name in names],
        "hovertemplate": "%{x}: %{y:,.3~r} ms<extra>%{fullData.name}</extra>",
    }


def _run_count(entry: Entry, clients: int) -> int:
    return sum(run.clients == clients for run in _runs(entry))


def _runs(entry: Entry) -> Iterable[Any]:
    return (run for level in entry.curve.levels for run in level.runs)


def _merged(entries: Entries, clients: int) -> dict[tuple[str, str], float]:
    """Return microseconds by curve and type; left out where there are too few transactions to tell."""
    key_of = {run.run: entry.key for entry in entries for run in _runs(entry) if run.clients == clients}
    histograms: dict[tuple[str, str], list[Histogram]] = {}
    for row in LatencyHistogram.objects.filter(run__in=key_of, name__in=entries.transactions):
        histograms.setdefault((key_of[row.run_id], row.name), []).append(plain(row))
    percentiles_us = {
        key: latencies.merge(group).percentile_us(SHARE)
        for key, group in histograms.items()
        if any(histogram.samples for histogram in group)
    }
    return {key: value for key, value in percentiles_us.items() if value is not None}


def _at(clients: int) -> str:
    return count(clients, "client")


def _number(value: float) -> Decimal:
    return Decimal(str(round_significant(value, 4)))


def _words(name: str) -> str:
    return name.lower().replace("_", "<br>", 1).replace("_", " ")


def _bar(entry: Entry) -> dict[str, Any]:
    pattern = PATTERNS[entry.series % len(PATTERNS)]
    return {
        "type": "bar",
        "name": entry.label,
        "marker": {"pattern": {"shape": pattern, "solidity": 0.3}},
        "meta": {"series": entry.series},
    }


def _figure(traces: Sequence[dict[str, Any]], x_title: str, y_title: str) -> dict[str, Any]:
    return {
        "data": list(traces),
        "layout": {
            "barmode": "group",
            "xaxis": {"title": {"text": x_title}, "type": "category", "showgrid": False},
            "yaxis": {"title": {"text": y_title}, "rangemode": "tozero", "tickformat": ",~f"},
        },
    }
