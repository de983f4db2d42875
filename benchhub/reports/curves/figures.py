"""Plotly figures as plain dicts: importing plotly's graph objects would cost each web process 31 MB.

Colours are the page's: a trace names its `series`, and the script takes the colour of that series from the theme.
Marker and dash differ as well, so that nothing hangs on colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from benchhub.analysis.curves.curve import Level, RunPoint
from benchhub.analysis.statistics.spread import Spread
from benchhub.analysis.words import significant

from . import looks
from .bars import bars, bars_text, of_spread
from .curves import SystemCurve

FEW_LEVELS = 12
HEADROOM = 1.06
NAME_WIDTH = 20  # letters
FEW_CLIENTS = 10  # up to these plotly would put ticks between whole clients

Figure = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Quantity:
    """The quantity on the y axis: its value for a run, and its spread at a level; None where it is not known."""

    name: str
    unit: str
    of_run: Callable[[RunPoint], float | None]
    of_level: Callable[[Level], Spread | None]
    centre: str
    of_spread: Callable[[Spread], float]


def throughput_figure(curves: Sequence[SystemCurve]) -> Figure:
    """Draw throughput against clients: every repeat a point, a line through the geometric means, their spread a bar."""
    unit = curves[0].curve.unit if curves else ""
    throughput = Quantity(
        "throughput",
        unit,
        lambda run: run.throughput,
        lambda level: level.throughput,
        "geometric mean",
        lambda spread: spread.mean,
    )
    return _figure(curves, throughput)


def latency_figure(curves: Sequence[SystemCurve]) -> Figure:
    """Draw average latency against clients, with a line through the medians; runs without one are left out."""
    average = Quantity(
        "average latency",
        "ms",
        lambda run: run.latency_average_ms,
        lambda level: level.latency,
        "median",
        lambda spread: spread.median,
    )
    return _figure(curves, average)


def _figure(curves: Sequence[SystemCurve], quantity: Quantity) -> Figure:
    axes = client_axes(sorted({level.clients for system_curve in curves for level in system_curve.curve.levels}))
    first = first_axis(curves)
    title = f"{quantity.name} ({quantity.unit})" if quantity.unit else quantity.name
    reaches = [of_spread(spread) for system_curve in curves for _, spread in _spreads(system_curve, quantity)]
    return {
        "data": [
            trace
            for system_curve in curves
            for trace in (
                _repeats(system_curve, quantity),
                *_centres(system_curve, quantity),
                *_aside(system_curve, quantity),
            )
        ],
        "layout": {
            "xaxis": {"title": {"text": "clients"}, **axes[first]},
            "yaxis": {"title": {"text": title}, "rangemode": "tozero", "tickformat": ",~f", **_range(curves, quantity)},
            "meta": {
                "axis": first,
                "axes": axes,
                "bars_text": bars_text(reaches),
                "looks_text": looks.text(len(curves)),
                **_names(curves, quantity),
            },
        },
    }


def _range(curves: Sequence[SystemCurve], quantity: Quantity) -> dict[str, Any]:
    """Return a range that holds every run and bar: names at the lines need to know where lines end."""
    levels = [level for system_curve in curves for level in system_curve.curve.levels]
    runs = [run for level in levels for run in level.runs]
    runs += [run for system_curve in curves for run in system_curve.aside]
    values = [value for run in runs if (value := quantity.of_run(run)) is not None]
    ends = [spread.high for level in levels if (spread := quantity.of_level(level))]
    return {"range": [0, HEADROOM * max(values + ends)]} if values else {}


def _names(curves: Sequence[SystemCurve], quantity: Quantity) -> dict[str, Any]:
    """Return the names that stand at the ends of lines; a single line needs none."""
    ends = [(system_curve, _end(system_curve, quantity)) for system_curve in curves]
    names = [name_at(system_curve.label, system_curve.series, *end) for system_curve, end in ends if end]
    lead_px = max((_beside(name["series"])["standoff"] for name in names), default=0) + 5
    return {"names": names, "has_legend": True, "lead_px": lead_px} if len(names) > 1 else {}


def _end(system_curve: SystemCurve, quantity: Quantity) -> tuple[float, float] | None:
    ends = [(clients, quantity.of_spread(spread)) for clients, spread in _spreads(system_curve, quantity)]
    return ends[-1] if ends else None


def name_at(name: str, series: int, x: float | str, y: float) -> dict[str, Any]:
    """Place the name of a line at its end."""
    return {"text": "<br>".join(wrap(name, NAME_WIDTH)), "number": str(series + 1), "x": x, "y": y, "series": series}


def first_axis(curves: Iterable[SystemCurve]) -> str:
    """Choose the axis of clients that a figure begins with: by logarithm for a few levels that lie far apart.

    It goes by what was planned as well as by what was run, so that it stays as it is while levels come in.
    """
    levels = {
        clients
        for system_curve in curves
        for clients in (*system_curve.planned, *(level.clients for level in system_curve.curve.levels))
    }
    is_wide = bool(levels) and max(levels) >= 8 * min(levels)
    return "log2" if is_wide and len(levels) <= FEW_LEVELS else "linear"


def client_axes(levels: Sequence[int]) -> dict[str, dict[str, Any]]:
    """Return both axes of clients, by logarithm and linear.

    The logarithmic axis has a tick at each level or, of many levels, at each doubling.
    """
    doublings = [2**power for power in range(max(levels, default=1).bit_length())]
    ticks = list(levels) if len(levels) <= FEW_LEVELS else [tick for tick in doublings if tick >= levels[0]]
    logarithmic = {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]}
    linear: dict[str, Any] = {"type": "linear", "rangemode": "tozero"}
    if max(levels, default=1) <= FEW_CLIENTS:
        linear |= {"tick0": 0, "dtick": 1}
    return {"log2": logarithmic, "linear": linear}


def _repeats(system_curve: SystemCurve, quantity: Quantity) -> dict[str, Any]:
    measured = [
        (level, run) for level in system_curve.curve.levels for run in level.runs if quantity.of_run(run) is not None
    ]
    trace = _repeats_of(system_curve, quantity, [run for _, run in measured])
    # A single run has no bar that it could cover.
    trace["marker"]["standoff"] = [trace["marker"]["standoff"] * (len(level.runs) > 1) for level, _ in measured]
    return trace


def _repeats_of(system_curve: SystemCurve, quantity: Quantity, runs: Sequence[RunPoint]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{system_curve.system.label}, each run",
        "legendgroup": f"series {system_curve.series}",
        "showlegend": False,
        "x": [run.clients for run in runs],
        "y": [quantity.of_run(run) for run in runs],
        "customdata": [run.run for run in runs],
        "marker": {
            "symbol": f"{looks.turned_marker(system_curve.series)}-open",
            "size": 7,
            **_beside(system_curve.series),
        },
        "hovertemplate": f"run %{{customdata}}, %{{x}} clients: %{{y:,.4~r}} {quantity.unit}<extra></extra>",
        "meta": {"series": system_curve.series},
    }


def _aside(system_curve: SystemCurve, quantity: Quantity) -> list[dict[str, Any]]:
    """Draw the runs that were set aside, crossed out; no trace where there are none."""
    runs = [run for run in system_curve.aside if quantity.of_run(run) is not None]
    if not runs:
        return []
    trace = _repeats_of(system_curve, quantity, runs)
    trace["name"] = f"{system_curve.system.label}, set aside"
    trace["marker"] |= {"symbol": "x-thin-open", "size": 9, "line": {"width": 2}}
    trace["hovertemplate"] = f"set aside: {trace['hovertemplate']}"
    return [trace]


def _spreads(system_curve: SystemCurve, quantity: Quantity) -> list[tuple[int, Spread]]:
    """Return (clients, spread) of the levels at which the quantity is known."""
    return [(level.clients, spread) for level in system_curve.curve.levels if (spread := quantity.of_level(level))]


def _centres(system_curve: SystemCurve, quantity: Quantity) -> list[dict[str, Any]]:
    measured = _spreads(system_curve, quantity)
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": system_curve.system.label,
        "legendgroup": f"series {system_curve.series}",
        "x": [clients for clients, _ in measured],
        "y": [quantity.of_spread(spread) for _, spread in measured],
        "line": {"dash": looks.dash(system_curve.series), "width": 2},
        "marker": {"symbol": looks.marker(system_curve.series), "size": 8},
        "text": [_spread_text(spread) for _, spread in measured],
        "hovertemplate": (
            f"{quantity.centre} at %{{x}} clients: %{{y:,.4~r}} {quantity.unit}<br>%{{text}}"
            "<extra>%{fullData.name}</extra>"
        ),
        "meta": {"series": system_curve.series},
    }
    return bars(trace, [of_spread(spread) for _, spread in measured])


def _spread_text(spread: Spread) -> str:
    if spread.n < 2:
        return ""
    return f"{spread.kind} {significant(spread.low, 4)} to {significant(spread.high, 4)}"


def _beside(series: int) -> dict[str, int]:
    """Place a run beside its level's bar, by an offset in px and an angle; two systems lie on two sides."""
    return {"angle": -90 if series % 2 else 90, "standoff": 9 + 5 * (series // 2)}
