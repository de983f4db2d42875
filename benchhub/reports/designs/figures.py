"""Pictures of a design with their tables: its peaks along a dimension, and its curves as small multiples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from benchhub.analysis.curves.curve import Level
from benchhub.analysis.words import round_significant
from benchhub.bench.models import System
from benchhub.reports.curves.curves import SystemCurve
from benchhub.reports.curves.figures import DASHES, Figure, marker, throughput_figure
from benchhub.reports.curves.panel import Panel, PanelRow, Value, refused

from .matrix import CLIENTS, DIMENSIONS, Matrix, Place

PEAKS, CURVES = "peaks", "curves"
MOST_MULTIPLES = 12
HEADROOM = 1.06
NAMED = tuple(dimension for dimension in DIMENSIONS if dimension != CLIENTS)
UNLIKE = "These curves are in different units, so that no axis holds them together."


def peaks(matrix: Matrix, rows: str, columns: str) -> Panel:
    """Draw the peaks along the rows' dimension, a line for each value of the others; the table has every peak."""
    along = columns if rows == CLIENTS else rows
    title = f"Peak throughput by {DIMENSIONS[along].lower()}"
    lines = [dimension for dimension in matrix.many if dimension not in (along, CLIENTS)]
    table_columns = (*(DIMENSIONS[name] for name in NAMED), *_measured(matrix))
    table_rows = tuple(_peak(matrix, place) for place in matrix.places)
    if not matrix.unit:
        return Panel(PEAKS, title, (), table_columns, table_rows, refusal=UNLIKE)
    sentence = "Each mark is the level with the highest geometric mean; its bar is the spread of the repeats there."
    return Panel(PEAKS, title, (sentence,), table_columns, table_rows, _along(matrix, along, lines))


def _measured(matrix: Matrix) -> tuple[str, ...]:
    peak = f"Peak, {matrix.unit}" if matrix.unit else "Peak"
    return (peak, "Unit", "Clients", "From", "To", "which is", "Runs", "Edge")


def _peak(matrix: Matrix, place: Place) -> PanelRow:
    names: list[Value] = [place.values[dimension] for dimension in NAMED]
    peak = place.curve.peak
    return PanelRow((*names, *_values(peak.level, place.curve.unit), peak.edge), is_marked=place is matrix.best)


def _values(level: Level, unit: str) -> tuple[Value, ...]:
    spread = level.throughput
    has_spread = spread.n > 1
    ends = (_number(spread.low, level), _number(spread.high, level)) if has_spread else (None, None)
    kind = spread.kind if has_spread else "one run"
    return (_number(spread.mean, level), unit, level.clients, *ends, kind, spread.n)


def _number(value: float, level: Level) -> Decimal:
    rounded = Decimal(repr(round_significant(value, level.throughput.digits)))
    return rounded.quantize(Decimal(1)) if rounded == rounded.to_integral_value() else rounded


def _along(matrix: Matrix, along: str, lines: Sequence[str]) -> Figure:
    groups: dict[str, list[Place]] = {}
    for place in matrix.places:
        groups.setdefault(place.words(lines) or "peak", []).append(place)
    places = matrix.values[along]
    traces = []
    for series, (name, group) in enumerate(groups.items()):
        ordered = sorted(group, key=lambda place: places.index(place.values[along]))
        spreads = [place.curve.peak.level.throughput for place in ordered]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "showlegend": len(groups) > 1,
                "x": [place.values[along] for place in ordered],
                "y": [spread.mean for spread in spreads],
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [spread.high - spread.mean for spread in spreads],
                    "arrayminus": [spread.mean - spread.low for spread in spreads],
                    "thickness": 1.5,
                    "width": 5,
                },
                "line": {"dash": DASHES[series % len(DASHES)], "width": 2},
                "marker": {"symbol": marker(series), "size": 8},
                "hovertemplate": f"%{{x}}: %{{y:,.4~r}} {matrix.unit}<extra>%{{fullData.name}}</extra>",
                "meta": {"series": series},
            }
        )
    x_axis = {"title": {"text": DIMENSIONS[along].lower()}, "type": "category", "categoryarray": list(places)}
    y_axis = {"title": {"text": f"peak ({matrix.unit})"}, "rangemode": "tozero", "tickformat": ",~f"}
    return {"data": traces, "layout": {"xaxis": {**x_axis, "categoryorder": "array"}, "yaxis": y_axis}}


def multiples(matrix: Matrix, rows: str, columns: str) -> list[Panel]:
    """Draw the curves against clients, a picture for each value of the rows' dimension, all on one scale of y."""
    facet = next((name for name in (rows, columns) if name != CLIENTS and name in matrix.many), "")
    lines = [dimension for dimension in matrix.many if dimension not in (facet, CLIENTS)]
    series = {name: number for number, name in enumerate(dict.fromkeys(place.words(lines) for place in matrix.places))}
    groups: dict[str, list[Place]] = {}
    for place in matrix.places:
        groups.setdefault(place.values[facet] if facet else "", []).append(place)
    pairs = list(groups.items())[:MOST_MULTIPLES]
    return [
        _multiple(matrix, number, places[0].words([facet]) if facet else "All curves", places, lines, series)
        for number, (_, places) in enumerate(pairs, start=1)
    ]


def _multiple(
    matrix: Matrix, number: int, title: str, places: Sequence[Place], lines: Sequence[str], series: dict[str, int]
) -> Panel:
    name, heading = f"{CURVES}-{number}", f"{title[:1].upper()}{title[1:]}"
    if len({place.curve.unit for place in places}) > 1:
        return refused(name, heading, UNLIKE)
    curves = [_curve(place, place.words(lines), series[place.words(lines)]) for place in places]
    figure = throughput_figure(curves)
    figure["layout"]["yaxis"] |= {"range": [0, _highest(matrix, places[0].curve.unit)]}
    columns = ("Curve", "Clients", "Throughput", "Unit", "From", "To", "which is", "Runs")
    return Panel(name, heading, (), columns, tuple(_rows(places, lines)), figure)


def _curve(place: Place, label: str, series: int) -> SystemCurve:
    return SystemCurve(System(label=label or place.system.label), series, place.curve)


def _highest(matrix: Matrix, unit: str) -> float:
    places = [place for place in matrix.places if place.curve.unit == unit]
    ends = [max(level.throughput.high, *level.values) for place in places for level in place.curve.levels]
    return HEADROOM * max(ends)


def _rows(places: Sequence[Place], lines: Sequence[str]) -> Iterator[PanelRow]:
    for place in places:
        for level in place.curve.levels:
            mean, unit, clients, *rest = _values(level, place.curve.unit)
            is_peak = level is place.curve.peak.level
            yield PanelRow((place.words(lines) or place.system.label, clients, mean, unit, *rest), is_marked=is_peak)
