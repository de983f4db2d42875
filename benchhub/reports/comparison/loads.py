"""Percentiles of latency, and two figures that TATP's reports have: throughput relative to the baseline at two loads,
and the 90th percentile of response times by type of transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from statistics import geometric_mean
from typing import Any

from benchhub.analysis.curves import latencies, ratio
from benchhub.analysis.curves.latencies import Histogram
from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.statistics.spread import round_significant
from benchhub.bench.models import LatencyHistogram
from benchhub.reports.curves.latencies import plain
from benchhub.reports.curves.panel import Panel, PanelRow
from runners.tools.tatp.parameters import TRANSACTIONS

from . import latency
from .comparison import Cell, Chosen

LOADS, TYPES = "loads", "types"
SHARE = 0.9
UNIT = "MQTh"
MEANS, MEDIANS = "geometric means", "medians"
BY_MEANS = (
    "With three repeats or more on both sides it is the ratio of their geometric means, not of their medians; "
    "the line on a bar is its 95% interval."
)
BY_MEDIANS = (
    "With fewer repeats than three on a side it is the ratio of medians; the line on a bar goes from the worst repeat "
    "over the baseline's best to the best over its worst."
)
RELATIVE = (
    "Clients",
    "System",
    f"Median, {UNIT}",
    f"Geometric mean, {UNIT}",
    "Times the baseline, with its interval",
    "Ratio of",
    "Runs",
)
PATTERNS = ("", "/", ".", "x", "\\", "+", "-")
Row = tuple[int, Sequence[Cell | None]]


def panels(chosen: Sequence[Chosen], rows: Sequence[Row]) -> list[Panel]:
    """`rows` are compare_page.levels of the chosen."""
    found = latency.panel(chosen)
    return [*_of_types(chosen, rows), *([found] if found else [])]


def _of_types(chosen: Sequence[Chosen], rows: Sequence[Row]) -> list[Panel]:
    """For curves in MQTh."""
    if chosen[0].of.curve.unit != UNIT:
        return []
    common = [row for row in rows if all(row[1])]
    if not common:
        return [Panel(LOADS, "Two loads", refusal="There is no number of clients at which each of these was run.")]
    two = [common[0], *common[1:][-1:]]
    return [relative(chosen, two), percentiles(chosen, common[-1][0])]


def relative(chosen: Sequence[Chosen], rows: Sequence[Row]) -> Panel:
    """Bars at the lowest and the highest number of clients at which each curve was measured."""
    bars = [_bars(one, _ratios(place, rows)) for place, one in enumerate(chosen)]
    labels = [_labels(one, _ratios(place, rows)) for place, one in enumerate(chosen)]
    found = [_relative_row(cell) for _, cells in rows for cell in cells if cell]
    loads = " and ".join(f"{clients:,}" for clients, _ in rows)
    lead = f"Throughput at {loads} clients, as a multiple of the baseline's there."
    figure = _figure([*bars, *labels], "", "times the baseline")
    figure["layout"]["scattermode"] = "group"  # each label above the bar that has its offsetgroup
    return Panel(LOADS, "Relative throughput at two loads", (lead, _which(rows)), RELATIVE, tuple(found), figure)


def _relative_row(cell: Cell) -> PanelRow:
    level, spread = cell.level, cell.level.throughput
    mean = _number(geometric_mean(level.values))
    times = ratio.times(1) if cell.is_baseline else cell.times or "–"
    of = MEANS if cell.ratio and cell.ratio.of_means else MEDIANS
    return PanelRow((level.clients, cell.of.label, _number(spread.median), mean, times, of, spread.n))


def _which(rows: Sequence[Row]) -> str:
    """What is divided by what, and what the lines on the bars are."""
    ratios = [cell.ratio for _, cells in rows for cell in cells if cell and cell.ratio and not cell.is_baseline]
    said = {of_means: BY_MEANS if of_means else BY_MEDIANS for of_means in (found.of_means for found in ratios)}
    withheld = " Without intervals: the order of the runs allows none." if any(r.withheld for r in ratios) else ""
    return " ".join(said[key] for key in sorted(said, reverse=True)) + withheld


def _ratios(place: int, rows: Sequence[Row]) -> list[tuple[int, Cell, Ratio]]:
    found = ((clients, cells[place]) for clients, cells in rows)
    return [(clients, cell, cell.ratio) for clients, cell in found if cell and cell.ratio]


def _bounds(cell: Cell, found: Ratio) -> tuple[float, float]:
    """No line on the baseline, which is 1 by definition."""
    return found.bounds if found.bounds and not cell.is_baseline else (found.value, found.value)


def _bars(one: Chosen, ratios: Sequence[tuple[int, Cell, Ratio]]) -> dict[str, Any]:
    bounds = [_bounds(cell, found) for _, cell, found in ratios]
    values = [found.value for *_, found in ratios]
    return {
        **_bar(one),
        "offsetgroup": str(one.of.series),
        "legendgroup": str(one.of.series),
        "x": [_at(clients) for clients, *_ in ratios],
        "y": values,
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [high - value for value, (_, high) in zip(values, bounds, strict=True)],
            "arrayminus": [value - low for value, (low, _) in zip(values, bounds, strict=True)],
        },
        "customdata": [ratio.times(value) for value in values],
        "hovertemplate": "%{x}: %{customdata}<extra>%{fullData.name}</extra>",
    }


def _labels(one: Chosen, ratios: Sequence[tuple[int, Cell, Ratio]]) -> dict[str, Any]:
    """Above the line on each bar: it would run through a label at the bar's top, and hatching hides one within."""
    return {
        "type": "scatter",
        "mode": "text",
        "name": one.label,
        "offsetgroup": str(one.of.series),
        "legendgroup": str(one.of.series),
        "showlegend": False,
        "x": [_at(clients) for clients, *_ in ratios],
        "y": [_bounds(cell, found)[1] for _, cell, found in ratios],
        "text": [ratio.times(found.value) for *_, found in ratios],
        "textposition": "top center",
        "cliponaxis": False,
        "hoverinfo": "skip",
        "meta": {"series": one.of.series},
    }


def percentiles(chosen: Sequence[Chosen], clients: int) -> Panel:
    """Of each type over all transactions of the repeats: histograms are merged, never percentiles."""
    known = _merged(chosen, clients)
    rows = [
        PanelRow((name, one.label, _number(known[one.key, name] / 1000), sum(r.clients == clients for r in _runs(one))))
        for name in TRANSACTIONS
        for one in chosen
        if (one.key, name) in known
    ]
    title = f"90th percentile of response times by type, at {_at(clients)}"
    if not rows:
        return Panel(TYPES, title, refusal="No response times by type are known at this number of clients.")
    leads = ["Nine of ten transactions of a type that count took at most so long, over all runs together."]
    if few := [name for name in TRANSACTIONS if any((one.key, name) not in known for one in chosen)]:
        leads.append(f"Too few were logged, or none was run, for each system to have: {', '.join(few)}.")
    bars = [
        {
            **_bar(one),
            "x": [_words(name) for name in TRANSACTIONS if (one.key, name) in known],
            "y": [known[one.key, name] / 1000 for name in TRANSACTIONS if (one.key, name) in known],
            "hovertemplate": "%{x}: %{y:,.3~r} ms<extra>%{fullData.name}</extra>",
        }
        for one in chosen
    ]
    columns = ("Type", "System", "90th percentile, ms", "Runs")
    return Panel(TYPES, title, tuple(leads), columns, tuple(rows), _figure(bars, "", "90th percentile (ms)"))


def _runs(one: Chosen) -> Iterable[Any]:
    return (run for level in one.of.curve.levels for run in level.runs)


def _merged(chosen: Sequence[Chosen], clients: int) -> dict[tuple[str, str], float]:
    """Microseconds by curve and type; left out where there are too few transactions to tell."""
    key_of = {run.run: one.key for one in chosen for run in _runs(one) if run.clients == clients}
    found: dict[tuple[str, str], list[Histogram]] = {}
    for row in LatencyHistogram.objects.filter(run__in=key_of, name__in=TRANSACTIONS):
        found.setdefault((key_of[row.run_id], row.name), []).append(plain(row))
    merged = {key: _percentile_us(histograms) for key, histograms in found.items()}
    return {key: value for key, value in merged.items() if value is not None}


def _percentile_us(histograms: Sequence[Histogram]) -> float | None:
    return latencies.merge(histograms).percentile_us(SHARE) if any(one.samples for one in histograms) else None


def _at(clients: int) -> str:
    return f"{clients:,} client{'s' if clients > 1 else ''}"


def _number(value: float) -> Decimal:
    return Decimal(str(round_significant(value, 4)))


def _words(name: str) -> str:
    return name.lower().replace("_", "<br>", 1).replace("_", " ")


def _bar(one: Chosen) -> dict[str, Any]:
    pattern = PATTERNS[one.of.series % len(PATTERNS)]
    return {
        "type": "bar",
        "name": one.label,
        "marker": {"pattern": {"shape": pattern, "solidity": 0.3}},
        "meta": {"series": one.of.series},
    }


def _figure(bars: Sequence[dict[str, Any]], x_title: str, y_title: str) -> dict[str, Any]:
    return {
        "data": list(bars),
        "layout": {
            "barmode": "group",
            "xaxis": {"title": {"text": x_title}, "type": "category", "showgrid": False},
            "yaxis": {"title": {"text": y_title}, "rangemode": "tozero", "tickformat": ",~f"},
        },
    }
