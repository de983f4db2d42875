"""Two figures that TATP's reports have: throughput relative to the baseline at two loads, and the 90th percentile of
response times by type of transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from benchhub.analysis import ratio
from benchhub.analysis.spread import round_significant
from benchhub.bench.models import LatencyHistogram
from benchhub.bench.run_page import plain_histogram
from runners.tools.histogram import percentile_us
from runners.tools.tatp_parameters import TRANSACTIONS

from .compare_page import Cell, Chosen
from .prices.panel import Panel, PanelRow

LOADS, TYPES = "loads", "types"
SHARE = 0.9
UNIT = "MQTh"
PATTERNS = ("", "/", ".", "x", "\\", "+", "-")
Row = tuple[int, Sequence[Cell | None]]


def panels(chosen: Sequence[Chosen], rows: Sequence[Row]) -> list[Panel]:
    """For curves in MQTh. `rows` are compare_page.levels of the chosen."""
    if chosen[0].of.curve.unit != UNIT:
        return []
    common = [row for row in rows if all(row[1])]
    if not common:
        return [Panel(LOADS, "Two loads", refusal="There is no number of clients at which each of these was run.")]
    two = [common[0], *common[1:][-1:]]
    return [relative(chosen, two), percentiles(chosen, common[-1][0])]


def relative(chosen: Sequence[Chosen], rows: Sequence[Row]) -> Panel:
    """Bars at the lowest and the highest number of clients at which each curve was measured."""
    bars = [_bars(one, place, rows) for place, one in enumerate(chosen)]
    found = [
        PanelRow(
            (clients, one.label, _number(cell.level.throughput.median), cell.times or "–", cell.level.throughput.n)
        )
        for clients, cells in rows
        for one, cell in zip(chosen, cells, strict=True)
        if cell
    ]
    loads = " and ".join(f"{clients:,}" for clients, _ in rows)
    lead = f"Median throughput at {loads} clients, as a multiple of the baseline's there."
    columns = ("Clients", "System", f"Median, {UNIT}", "Times the baseline, with its interval", "Runs")
    figure = _figure(bars, "", "times the baseline")
    return Panel(LOADS, "Relative throughput at two loads", (lead,), columns, tuple(found), figure)


def _bars(one: Chosen, place: int, rows: Sequence[Row]) -> dict[str, Any]:
    ratios = [(clients, cell.ratio) for clients, cells in rows if (cell := cells[place]) and cell.ratio]
    return {
        **_bar(one),
        "x": [_at(clients) for clients, _ in ratios],
        "y": [found.value for _, found in ratios],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [found.highest - found.value if found.has_spread else 0 for _, found in ratios],
            "arrayminus": [found.value - found.lowest if found.has_spread else 0 for _, found in ratios],
        },
        "text": [ratio.times(found.value) for _, found in ratios],
        "textposition": "outside",  # within a hatched bar nobody could read it
        "cliponaxis": False,
        "hovertemplate": "%{x}: %{text}<extra>%{fullData.name}</extra>",
    }


def percentiles(chosen: Sequence[Chosen], clients: int) -> Panel:
    """Of each type the worst repeat's percentile, as percentiles are never averaged."""
    worst = _worst(chosen, clients)
    rows = [
        PanelRow((name, one.label, _number(worst[one.key, name] / 1000), sum(r.clients == clients for r in _runs(one))))
        for name in TRANSACTIONS
        for one in chosen
        if (one.key, name) in worst
    ]
    title = f"90th percentile of response times by type, at {_at(clients)}"
    if not rows:
        return Panel(TYPES, title, refusal="No response times by type are known at this number of clients.")
    lead = "Nine of ten transactions of a type that count took at most so long, in the slowest of the repeats."
    bars = [
        {
            **_bar(one),
            "x": [_words(name) for name in TRANSACTIONS if (one.key, name) in worst],
            "y": [worst[one.key, name] / 1000 for name in TRANSACTIONS if (one.key, name) in worst],
            "hovertemplate": "%{x}: %{y:,.3~r} ms<extra>%{fullData.name}</extra>",
        }
        for one in chosen
    ]
    columns = ("Type", "System", "90th percentile, ms", "Runs")
    return Panel(TYPES, title, (lead,), columns, tuple(rows), _figure(bars, "", "90th percentile (ms)"))


def _runs(one: Chosen) -> Iterable[Any]:
    return (run for level in one.of.curve.levels for run in level.runs)


def _worst(chosen: Sequence[Chosen], clients: int) -> dict[tuple[str, str], float]:
    """Microseconds by curve and type; left out where one repeat has too few transactions to tell."""
    key_of = {run.run: one.key for one in chosen for run in _runs(one) if run.clients == clients}
    found: dict[tuple[str, str], list[float | None]] = {}
    for histogram in LatencyHistogram.objects.filter(run__in=key_of, name__in=TRANSACTIONS):
        value = percentile_us(plain_histogram(histogram), SHARE)
        found.setdefault((key_of[histogram.run_id], histogram.name), []).append(value)
    return {key: max(known) for key, values in found.items() if (known := _all_known(values))}


def _all_known(values: Sequence[float | None]) -> list[float]:
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


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
