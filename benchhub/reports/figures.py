"""Plotly figures as plain dicts: importing plotly's graph objects would cost each web process 31 MB.

Colours are the page's: a trace names its `series`, and the script takes the colour of that series from the theme.
Marker and dash differ as well, so that nothing hangs on colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchhub.analysis.curve import Level

from .curves import SystemCurve

MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "pentagon")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
FEW_LEVELS = 12

Figure = dict[str, Any]


def throughput_figure(curves: Sequence[SystemCurve]) -> Figure:
    """Throughput against clients: every repeat a point, a line through the medians, the range of repeats a bar."""
    levels = sorted({level.clients for of in curves for level in of.curve.levels})
    return {
        "data": [trace for of in curves for trace in (_repeats(of), _medians(of))],
        "layout": {
            "xaxis": {"title": {"text": "clients"}, **_client_axis(levels)},
            "yaxis": {
                "title": {"text": f"throughput ({curves[0].curve.unit})" if curves else "throughput"},
                "rangemode": "tozero",
                "tickformat": ",~f",
            },
        },
    }


def _client_axis(levels: Sequence[int]) -> dict[str, Any]:
    """A few levels far apart are spread evenly by their logarithm, each with its tick; many are left to plotly."""
    if not levels or len(levels) > FEW_LEVELS or levels[-1] < 8 * levels[0]:
        return {"rangemode": "tozero"}
    return {"type": "log", "tickvals": list(levels), "ticktext": [f"{level:,}" for level in levels]}


def _repeats(of: SystemCurve) -> dict[str, Any]:
    runs = [run for level in of.curve.levels for run in level.runs]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{of.system.label}, each run",
        "legendgroup": f"series {of.series}",
        "showlegend": False,
        "x": [run.clients for run in runs],
        "y": [run.throughput for run in runs],
        "customdata": [run.run for run in runs],
        "marker": {"symbol": f"{_marker(of.series)}-open", "size": 7},
        "hovertemplate": f"run %{{customdata}}, %{{x}} clients: %{{y:,.4~r}} {of.curve.unit}<extra></extra>",
        "meta": {"series": of.series},
    }


def _medians(of: SystemCurve) -> dict[str, Any]:
    levels = of.curve.levels
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": of.system.label,
        "legendgroup": f"series {of.series}",
        "x": [level.clients for level in levels],
        "y": [level.throughput.median for level in levels],
        "error_y": _range(levels),
        "line": {"dash": DASHES[of.series % len(DASHES)], "width": 2},
        "marker": {"symbol": _marker(of.series), "size": 8},
        "hovertemplate": f"median at %{{x}} clients: %{{y:,.4~r}} {of.curve.unit}<extra>%{{fullData.name}}</extra>",
        "meta": {"series": of.series},
    }


def _range(levels: Sequence[Level]) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [level.throughput.highest - level.throughput.median for level in levels],
        "arrayminus": [level.throughput.median - level.throughput.lowest for level in levels],
        "thickness": 1.5,
        "width": 5,
    }


def _marker(series: int) -> str:
    return MARKERS[series % len(MARKERS)]
