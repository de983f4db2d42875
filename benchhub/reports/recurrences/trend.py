"""The peaks of a plan that recurs against time: a line for each system, broken where its protocol changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

from benchhub.analysis.statistics.spread import Spread
from benchhub.analysis.words import round_significant
from benchhub.reports.curves import looks
from benchhub.reports.curves.bars import bars, bars_text, of_spread
from benchhub.reports.curves.figures import HEADROOM, Figure
from benchhub.reports.curves.panel import Panel, PanelRow, Value, refused

NAME, TITLE = "trend", "Peaks over time"
COLUMNS = (
    "Queued (UTC)",
    "Experiment",
    "System",
    "Peak",
    "Unit",
    "From",
    "To",
    "which is",
    "Runs",
    "Clients",
    "Conditions",
)
FEWEST_OCCASIONS = 2
TOO_FEW = "A trend takes two occasions with results."
UNLIKE = "These peaks are in different units, so that no axis holds them together."
BROKEN = (
    "A line breaks where the conditions changed, such as the client program: the table numbers them, and peaks under "
    "different conditions are not compared."
)


@dataclass(frozen=True, slots=True)
class Occasion:
    """The peak of a system at a time. `protocol` is the digest of its conditions."""

    at: datetime
    experiment: int
    system: str
    series: int
    protocol: str
    clients: int
    unit: str
    throughput: Spread

    @property
    def when(self) -> str:
        return self.at.strftime("%Y-%m-%d %H:%M")


def trend(occasions: Sequence[Occasion]) -> Panel:
    """Return the panel of all occasions, which come in the order of their times."""
    conditions = _conditions(occasions)
    if len({occasion.experiment for occasion in occasions}) < FEWEST_OCCASIONS:
        return refused(NAME, TITLE, TOO_FEW)
    if len({occasion.unit for occasion in occasions}) > 1:
        return refused(NAME, TITLE, UNLIKE)
    rows = tuple(PanelRow(_values(*pair)) for pair in zip(occasions, conditions, strict=True))
    return Panel(NAME, TITLE, (BROKEN,) if max(conditions) > 1 else (), COLUMNS, rows, _figure(occasions))


def _conditions(occasions: Sequence[Occasion]) -> list[int]:
    """Return for each occasion the number of its conditions, counted for each system apart."""
    digests: dict[int, list[str]] = {}
    for occasion in occasions:
        earlier = digests.setdefault(occasion.series, [])
        if occasion.protocol not in earlier:
            earlier.append(occasion.protocol)
    return [digests[occasion.series].index(occasion.protocol) + 1 for occasion in occasions]


def _values(occasion: Occasion, conditions: int) -> tuple[Value, ...]:
    spread = occasion.throughput
    ends = (_number(spread.low, spread), _number(spread.high, spread)) if spread.n > 1 else (None, None)
    kind = ("95% interval" if spread.interval else "range") if spread.n > 1 else "one run"
    names = (occasion.when, str(occasion.experiment), occasion.system)
    peak = _number(spread.mean, spread)
    return (*names, peak, occasion.unit, *ends, kind, spread.n, occasion.clients, conditions)


def _number(value: float, spread: Spread) -> Decimal:
    rounded = Decimal(repr(round_significant(value, spread.digits)))
    return rounded.quantize(Decimal(1)) if rounded == rounded.to_integral_value() else rounded


def _figure(occasions: Sequence[Occasion]) -> Figure:
    unit = occasions[0].unit
    highest = max(occasion.throughput.high for occasion in occasions)
    return {
        "data": [trace for line, is_named in _lines(occasions) for trace in _line(line, is_named)],
        "layout": {
            "xaxis": {"title": {"text": "queued (UTC)"}, "type": "date"},
            "yaxis": {
                "title": {"text": f"peak ({unit})"},
                "rangemode": "tozero",
                "tickformat": ",~f",
                "range": [0, HEADROOM * highest],
            },
            "meta": {"bars_text": bars_text(of_spread(occasion.throughput) for occasion in occasions)},
        },
    }


def _lines(occasions: Sequence[Occasion]) -> Iterator[tuple[list[Occasion], bool]]:
    """Yield the stretches of each system under one protocol, and whether it is the first, which the legend names."""
    series_in_legend: set[int] = set()
    by_system = sorted(occasions, key=lambda occasion: occasion.series)
    for (series, _), line in groupby(by_system, key=lambda occasion: (occasion.series, occasion.protocol)):
        yield list(line), series not in series_in_legend
        series_in_legend.add(series)


def _line(line: Sequence[Occasion], is_named: bool) -> list[dict[str, Any]]:
    first = line[0]
    spreads = [occasion.throughput for occasion in line]
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": first.system,
        "showlegend": is_named,
        "x": [occasion.at.isoformat() for occasion in line],
        "y": [spread.mean for spread in spreads],
        "line": {"dash": looks.dash(first.series), "width": 2},
        "marker": {"symbol": looks.marker(first.series), "size": 8},
        "customdata": [f"experiment {occasion.experiment}, {occasion.clients} clients" for occasion in line],
        "hovertemplate": f"%{{y:,.4~r}} {first.unit}, %{{customdata}}<extra>%{{fullData.name}}</extra>",
        "meta": {"series": first.series},
    }
    return bars(trace, [of_spread(spread) for spread in spreads])
