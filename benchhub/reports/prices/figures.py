"""Figures of prices as plain dicts, like curves/figures.py: series, marker and dash tell things apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from benchhub.analysis.words import significant
from benchhub.reports.curves import looks
from benchhub.reports.curves.bars import Reach, bars, bars_text
from benchhub.reports.curves.figures import Figure, client_axes

PATTERNS = ("", "/", ".", "x")
# Labels stand beside bars that lie: short lines leave room for the bars on a phone.
LYING = {"autorange": "reversed", "type": "category", "ticks": "", "tickfont": {"size": 11}}
LABEL_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Line:
    """Points in rising order of x, with the reach of each where it is known."""

    name: str
    series: int
    x: Sequence[float]
    y: Sequence[float | None]
    reaches: Sequence[Reach] = ()


def against_clients(lines: Sequence[Line], unit: str, first: str) -> Figure:
    """Draw prices against clients; `first` is the axis to begin with, 'log2' or 'linear'."""
    axes = client_axes(sorted({int(x) for line in lines for x in line.x}))
    return {
        "data": [trace for line in lines for trace in _line(line, unit, "at %{x} clients")],
        "layout": {
            "xaxis": {"title": {"text": "clients"}, **axes[first]},
            "yaxis": _amounts(f"price ({unit})"),
            "meta": {"axis": first, "axes": axes, "bars_text": bars_text(_reaches(lines))},
        },
    }


def against_cores(lines: Sequence[Line], unit: str, present: int) -> Figure:
    """Draw costs as cores per socket grow; a thin line stands at the cores of the machine."""
    costs = [value for line in lines for value in line.y if value is not None]
    mark = {
        "type": "scatter",
        "mode": "lines",
        "name": f"this machine, {present}",
        "x": [present, present],
        "y": [0, max(costs, default=0)],
        "line": {"dash": "dot", "width": 1},
        "hoverinfo": "skip",
        "meta": {"series": looks.GREY},
    }
    return {
        "data": [*(trace for line in lines for trace in _line(line, unit, "with %{x} cores per socket")), mark],
        "layout": {
            "xaxis": {"title": {"text": "cores per socket"}, "rangemode": "tozero"},
            "yaxis": _amounts(f"licence, support ({unit})"),
        },
    }


def stacked(labels: Sequence[str], parts: Sequence[tuple[str, Sequence[float]]], unit: str) -> Figure:
    """Draw a bar of parts for each label, the first label on top. A part that is 0 everywhere is left out."""
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": list(values),
            "y": list(labels),
            "marker": {"pattern": {"shape": PATTERNS[place % len(PATTERNS)], "solidity": 0.3}},
            "hovertemplate": f"%{{x:,.2f}} {unit}<extra>{name}</extra>",
            "meta": {"series": place},
        }
        for place, (name, values) in enumerate(parts)
        if any(values)
    ]
    return {
        "data": bars,
        "layout": {
            "barmode": "stack",
            "xaxis": _amounts(f"total ({unit})"),
            "yaxis": LYING,
            "meta": {"bars": len(labels)},
        },
    }


@dataclass(frozen=True, slots=True)
class Bar:
    """A value and what is known of it; `series` is the system's colour, `pattern` the licence's."""

    label: str
    value: float
    reach: Reach
    series: int
    pattern: int


def price_bars(rows: Sequence[Bar], unit: str) -> Figure:
    """Draw each bar from 0 to its value, with what is known of it; the first one on top."""
    series = list(dict.fromkeys(row.series for row in rows))
    return {
        "data": [
            trace for number in series for trace in _bars([row for row in rows if row.series == number], number, unit)
        ],
        "layout": {
            "barmode": "overlay",
            "showlegend": False,
            "xaxis": _amounts(f"price ({unit})"),
            "yaxis": {**LYING, "categoryorder": "array", "categoryarray": [row.label for row in rows]},
            "meta": {"bars": len(rows), "bars_text": bars_text(row.reach for row in rows)},
        },
    }


def _bars(rows: Sequence[Bar], series: int, unit: str) -> list[dict[str, Any]]:
    shapes = [PATTERNS[row.pattern % len(PATTERNS)] for row in rows]
    trace = {
        "type": "bar",
        "orientation": "h",
        "name": "price",
        "showlegend": False,
        "x": [row.value for row in rows],
        "y": [row.label for row in rows],
        "marker": {"pattern": {"shape": shapes, "solidity": 0.3}},
        "hovertemplate": f"%{{x:,.4~r}} {unit}<extra></extra>",
        "meta": {"series": series},
    }
    return bars(trace, [row.reach for row in rows], "x")


def tornado(labels: Sequence[str], ends: Sequence[tuple[float, float]], present: float, unit: str) -> Figure:
    """Draw a bar from the price at a setting's low end to that at its high end; a line at the present price."""
    return {
        "data": [_ranges(labels, ends, unit), _present(labels, present, unit)],
        "layout": {
            "xaxis": {"title": {"text": f"price ({unit})"}, "tickformat": ",~f"},
            "yaxis": LYING,
            "meta": {"bars": len(labels)},
        },
    }


def _ranges(labels: Sequence[str], ends: Sequence[tuple[float, float]], unit: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": "range",
        "showlegend": False,
        "y": list(labels),
        "base": [min(pair) for pair in ends],
        "x": [abs(high - low) for low, high in ends],
        "customdata": [f"{significant(low, 4)} to {significant(high, 4)} {unit}" for low, high in ends],
        "hovertemplate": "%{customdata}<extra></extra>",
        "meta": {"series": 0},
    }


def _present(labels: Sequence[str], price: float, unit: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "present price",
        "showlegend": False,
        "x": [price for _ in labels],
        "y": list(labels),
        "line": {"width": 2, "dash": "dot"},
        "marker": {"symbol": "line-ns-open", "size": 24, "line": {"width": 3}},
        "hovertemplate": f"now %{{x:,.4~r}} {unit}<extra></extra>",
        "meta": {"series": looks.GREY},
    }


@dataclass(frozen=True, slots=True)
class Spot:
    """One choice: its total cost and its throughput."""

    name: str
    series: int
    total: float
    throughput: float
    is_on_frontier: bool


def frontier(spots: Sequence[Spot], labels: Sequence[tuple[int, str]], currency: str, unit: str) -> Figure:
    """Draw cost to the right, throughput upwards; filled marks are on the frontier, which a line joins."""
    edge = sorted((spot for spot in spots if spot.is_on_frontier), key=lambda spot: spot.total)
    edge_trace = {
        "type": "scatter",
        "mode": "lines",
        "name": "frontier",
        "x": [spot.total for spot in edge],
        "y": [spot.throughput for spot in edge],
        "line": {"shape": "hv", "dash": "dot", "width": 1.5},
        "hoverinfo": "skip",
        "meta": {"series": looks.GREY},
    }
    traces = [_spots([spot for spot in spots if spot.series == series], series, name, unit) for series, name in labels]
    return {
        "data": [edge_trace, *traces],
        "layout": {"xaxis": _amounts(f"total ({currency})"), "yaxis": _amounts(f"throughput ({unit})")},
    }


def _spots(spots: Sequence[Spot], series: int, name: str, unit: str) -> dict[str, Any]:
    symbol = looks.marker(series)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [spot.total for spot in spots],
        "y": [spot.throughput for spot in spots],
        "text": [spot.name for spot in spots],
        "marker": {
            "symbol": [symbol if spot.is_on_frontier else f"{symbol}-open" for spot in spots],
            "opacity": 1,
            "size": [12 if spot.is_on_frontier else 8 for spot in spots],
        },
        "hovertemplate": f"%{{text}}<br>%{{y:,.4~r}} {unit} for %{{x:,.2f}}<extra>%{{fullData.name}}</extra>",
        "meta": {"series": series},
    }


def _reaches(lines: Sequence[Line]) -> list[Reach]:
    return [reach for line in lines for reach in line.reaches]


def _line(line: Line, unit: str, where: str) -> list[dict[str, Any]]:
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": line.name,
        "x": list(line.x),
        "y": list(line.y),
        "line": {"dash": looks.dash(line.series), "width": 2},
        "marker": {"symbol": looks.marker(line.series), "size": 8},
        "hovertemplate": f"%{{y:,.4~r}} {unit} {where}<extra>%{{fullData.name}}</extra>",
        "meta": {"series": line.series},
    }
    return bars(trace, line.reaches) if line.reaches else [trace]


def label(*names: str) -> str:
    """Break a label into lines: each name begins one, long names take several."""
    return "<br>".join(line for name in names for line in wrap(name, LABEL_WIDTH))


def _amounts(title: str) -> dict[str, Any]:
    return {"title": {"text": title}, "rangemode": "tozero", "tickformat": ",~f"}
