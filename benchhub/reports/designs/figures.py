"""Pictures of a design with their tables: its peaks along a dimension, and its curves as small multiples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from benchhub.analysis.curves.curve import Level
from benchhub.analysis.words import round_significant
from benchhub.bench.models import System
from benchhub.reports.curves import looks
from benchhub.reports.curves.bars import bars, bars_text, of_spread
from benchhub.reports.curves.curves import SystemCurve
from benchhub.reports.curves.figures import HEADROOM, Figure, name_at, throughput_figure
from benchhub.reports.curves.panel import Panel, PanelRow, Value, refused

from .matrix import CLIENTS, DIMENSIONS, Cell, HeatMap, Matrix, Place

PEAKS, CURVES = "peaks", "curves"
NAMED = tuple(dimension for dimension in DIMENSIONS if dimension != CLIENTS)
# The true peak may lie beyond what was run.
EDGES = {"": "", "lowest": "at the lowest level", "highest": "at the highest level", "only": "the only level"}
UNLIKE = "These curves are in different units, so that no axis holds them together."


def peaks(matrix: Matrix, dimensions: Sequence[str] = NAMED) -> Panel:
    """Return the table of all peaks, with the values of these dimensions; it is drawn beside the heat maps."""
    columns = (*(DIMENSIONS[name] for name in dimensions), *_measured(matrix))
    rows = tuple(_peak(matrix, place, dimensions) for place in matrix.places)
    return Panel(PEAKS, "All peaks", (), columns, rows)


def _measured(matrix: Matrix) -> tuple[str, ...]:
    peak = f"Peak, {matrix.unit}" if matrix.unit else "Peak"
    return (peak, *([] if matrix.unit else ["Unit"]), "Clients", "From", "To", "which is", "Runs", "Remark")


def _peak(matrix: Matrix, place: Place, dimensions: Sequence[str]) -> PanelRow:
    names: list[Value] = [place.values[dimension] for dimension in dimensions]
    peak = place.curve.peak
    mean, unit, *rest = _values(peak.level, place.curve.unit)
    units = [] if matrix.unit else [unit]
    return PanelRow((*names, mean, *units, *rest, EDGES[peak.edge]), is_marked=place is matrix.best)


def _values(level: Level, unit: str) -> tuple[Value, ...]:
    spread = level.throughput
    has_spread = spread.n > 1
    ends = (_number(spread.low, level), _number(spread.high, level)) if has_spread else (None, None)
    kind = ("95% interval" if spread.interval else "range") if has_spread else "one run"
    return (_number(spread.mean, level), unit, level.clients, *ends, kind, spread.n)


def _number(value: float, level: Level) -> Decimal:
    rounded = Decimal(repr(round_significant(value, level.throughput.digits)))
    return rounded.quantize(Decimal(1)) if rounded == rounded.to_integral_value() else rounded


def along(matrix: Matrix, heat_map: HeatMap, rows: str) -> Figure:
    """Draw the numbers of a heat map: along its rows, a line for each column."""
    lines = [(column, heat_map.column(place)) for place, column in enumerate(heat_map.columns)]
    drawn = [(series, column, points) for series, (column, points) in enumerate(lines) if points]
    ends = [(series, column, *points[-1]) for series, column, points in drawn]
    names = [name_at(column, series, value, cell.level.throughput.mean) for series, column, value, cell in ends]
    at_lines = {"names": names, "has_legend": True} if len(names) > 1 else {}
    reaches = [of_spread(cell.level.throughput) for *_, points in drawn for _, cell in points]
    values = [value for value, _ in heat_map.rows]
    x_axis = {"title": {"text": DIMENSIONS[rows].lower()}, "type": "category", "categoryarray": values}
    y_axis = {"title": {"text": f"peak ({matrix.unit})"}, "rangemode": "tozero", "tickformat": ",~f"}
    return {
        "data": [trace for series, column, points in drawn for trace in _line(matrix, series, column, points)],
        "layout": {
            "xaxis": {**x_axis, "categoryorder": "array"},
            "yaxis": {**y_axis, "range": [0, _highest(matrix, matrix.unit)]},
            "meta": {"bars_text": bars_text(reaches), **at_lines},
        },
    }


def _line(matrix: Matrix, series: int, name: str, points: Sequence[tuple[str, Cell]]) -> list[dict[str, Any]]:
    spreads = [cell.level.throughput for _, cell in points]
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [value for value, _ in points],
        "y": [spread.mean for spread in spreads],
        "line": {"dash": looks.dash(series), "width": 2},
        "marker": {"symbol": looks.marker(series), "size": 8},
        "customdata": [cell.text for _, cell in points],
        "hovertemplate": f"%{{x}}: %{{customdata}} {matrix.unit}<extra>%{{fullData.name}}</extra>",
        "meta": {"series": series},
    }
    return bars(trace, [of_spread(spread) for spread in spreads])


def multiples(matrix: Matrix, rows: str, columns: str) -> list[Panel]:
    """Draw the curves against clients, all on one scale: a line for each column, a picture for all else."""
    columns = columns if columns != CLIENTS else next(iter(matrix.rest(rows, columns)), "")
    others = [dimension for dimension in matrix.many if dimension not in (columns, CLIENTS)]
    groups: dict[str, list[Place]] = {}
    for place in matrix.places:
        groups.setdefault(place.words(others), []).append(place)
    pairs = sorted(groups.items(), key=lambda pair: matrix.order(pair[1][0], [rows, *others]))
    return [_multiple(matrix, number, title, places, columns) for number, (title, places) in enumerate(pairs, start=1)]


def _multiple(matrix: Matrix, number: int, title: str, places: Sequence[Place], columns: str) -> Panel:
    name, heading = f"{CURVES}-{number}", f"{title[:1].upper()}{title[1:]}" or "All curves"
    if len({place.curve.unit for place in places}) > 1:
        return refused(name, heading, UNLIKE)
    figure = throughput_figure([_curve(matrix, place, columns) for place in places])
    figure["layout"]["yaxis"] |= {"range": [0, _highest(matrix, places[0].curve.unit)]}
    heads = ("Curve", "Clients", "Throughput", "Unit", "From", "To", "which is", "Runs")
    return Panel(name, heading, (), heads, tuple(_rows(places, columns)), figure)


def _curve(matrix: Matrix, place: Place, columns: str) -> SystemCurve:
    """Return a curve whose colour is that of its column, in each picture of the page."""
    series = matrix.values[columns].index(place.values[columns]) if columns else 0
    return SystemCurve(System(label=_label(place, columns)), series, place.curve)


def _label(place: Place, columns: str) -> str:
    return place.words([columns]) if columns else place.system.label


def _highest(matrix: Matrix, unit: str) -> float:
    """Return the end of the axis that all pictures of a unit share."""
    places = [place for place in matrix.places if place.curve.unit == unit]
    ends = [max(level.throughput.high, *level.values) for place in places for level in place.curve.levels]
    return HEADROOM * max(ends)


def _rows(places: Sequence[Place], columns: str) -> Iterator[PanelRow]:
    for place in places:
        for level in place.curve.levels:
            mean, unit, clients, *rest = _values(level, place.curve.unit)
            is_peak = level is place.curve.peak.level
            yield PanelRow((_label(place, columns), clients, mean, unit, *rest), is_marked=is_peak)
