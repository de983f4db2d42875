"""The figures of published reports as plain dicts, drawn again from the printed numbers; see curves/figures.py."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from benchhub.analysis.published import Document, littles_law, report_c, report_d
from benchhub.analysis.published.check import plain, rounded
from benchhub.analysis.published.littles_law import Cell
from benchhub.reports.curves.bars import Reach, bars
from benchhub.reports.curves.figures import Figure
from benchhub.reports.prices.figures import LYING

# Bars differ by pattern as well as by colour.
PLAIN, STRIPED = "", "/"
ROOM_ABOVE = Decimal("1.12")


def tps_by_scale(document: Document, ratio: str) -> Figure:
    """Draw report A's peaks by scale factor for both builds, including and excluding connecting, at one ratio."""
    cells = [littles_law.cell(row) for row in document.all("result")]
    highest = max(cell.tps for cell in cells) * ROOM_ABOVE
    builds = list(dict.fromkeys(cell.build for cell in cells))
    data = [
        _peaks([cell for cell in cells if cell.key[:3] == (build, counted, ratio)], series, pattern)
        for series, build in enumerate(builds)
        for counted, pattern in (("including", PLAIN), ("excluding", STRIPED))
    ]
    figure = _bars(data, "scale factor", "TPS at the peak")
    figure["layout"]["yaxis"]["range"] = [0, highest]
    return figure


def _peaks(cells: Sequence[Cell], series: int, pattern: str) -> dict[str, Any]:
    implied = [f"{cell.clients} clients printed, {plain(cell.implied_clients, 1)} implied" for cell in cells]
    return {
        **_bar(f"{cells[0].build}, {cells[0].counted}", series, pattern),
        "x": [f"{cell.scale:,}" for cell in cells],
        "y": [cell.tps for cell in cells],
        "text": ["" if cell.agrees else "?" for cell in cells],
        "customdata": implied,
        "hovertemplate": "scale %{x}: %{y:,} TPS<br>%{customdata}<extra>%{fullData.name}</extra>",
    }


def price_bars(document: Document) -> Figure:
    """Draw report A's prices as printed, hardware only and with subscription, in EUR per TPS. The bars lie: a phone has
    no room for names of systems below bars that stand.
    """
    systems = document.all("system")
    data = []
    for series, name, words in ((2, "hardware_only", "hardware only"), (3, "with_subscription", "with subscription")):
        prices = [document.cited(system, name).value for system in systems]
        data.append(
            {
                **_bar(words, series, STRIPED if series == 3 else PLAIN),
                "orientation": "h",
                "x": prices,
                "y": [system.text("name").replace(", ", "<br>") for system in systems],
                "text": list(map(str, prices)),
                "hovertemplate": "%{y}: %{x} EUR per TPS<extra>%{fullData.name}</extra>",
            }
        )
    return _lying(data, "EUR per TPS")


def peak_bars(document: Document) -> Figure:
    """Draw report B's two peaks that the text prints."""
    figures = [document.figure(name) for name in ("peak-power8", "peak-x86")]
    trace = {
        **_bar("peak", 0, PLAIN),
        "x": ["POWER8<br>20 cores", "x86 (PGECons)<br>80 cores"],
        "y": [figure.value for figure in figures],
        "text": [figure.printed for figure in figures],
        "hovertemplate": "%{x}: %{text} TPS<extra></extra>",
    }
    return _bars([trace], "", "TPS at the peak")


def share_bars(document: Document) -> Figure:
    """Draw report B's cores and throughput of POWER8 in per cent of x86."""
    figures = [document.figure(name) for name in ("cores-percent", "throughput-percent")]
    trace = {
        **_bar("POWER8", 1, PLAIN),
        "x": ["cores", "throughput"],
        "y": [figure.value for figure in figures],
        "text": [figure.printed for figure in figures],
        "hovertemplate": "%{x}: %{text} of x86<extra></extra>",
    }
    return _bars([trace], "", "per cent of x86")


def gain_bars(document: Document) -> Figure:
    """Draw report C's steps, each on top of those before it, then all of them as computed and as printed."""
    steps = report_c.steps(document)
    gains = [report_c.compounded_percent(step.factor for step in steps[:count]) for count in range(len(steps) + 1)]
    ends = [rounded(percent, 2) for percent in gains]
    printed = document.figure("aggregate")
    each_step = {
        **_bar("each step", 0, PLAIN),
        "x": [f"step {step.number}" for step in steps],
        "y": [end - base for base, end in pairwise(ends)],
        "base": ends[:-1],
        "text": [f"{step.gain_percent}%" for step in steps],
        "customdata": [f"{step.change}: {step.words}" for step in steps],
        "hovertemplate": "%{x}, %{customdata}<extra></extra>",
    }
    total = rounded(gains[-1], 1)
    data = [each_step, _total_bar("compounded", total, 1, PLAIN), _total_bar("printed", printed.value, 2, STRIPED)]
    figure = _bars(data, "", "throughput gained (%)")
    figure["layout"]["barmode"] = "overlay"
    return figure


def _total_bar(name: str, value: Decimal, series: int, pattern: str) -> dict[str, Any]:
    trace = _bar(f"all together, {name}", series, pattern)
    return {**trace, "x": [f"all, {name}"], "y": [value], "text": [f"{value}%"], "hovertemplate": "%{x}: %{text}"}


def transaction_bars(document: Document) -> Figure:
    """Draw report D's price per transaction as printed, in USD per MQTh."""
    data = []
    for series, name in enumerate(("hybrid", "in memory")):
        systems = [system for system in document.all("system") if system.text("name") == name]
        prices = [document.cited(system, "price").value for system in systems]
        data.append(
            {
                **_bar(name, series, STRIPED if series else PLAIN),
                "x": [f"{system.text('drivers')} drivers" for system in systems],
                "y": prices,
                "text": list(map(str, prices)),
                "hovertemplate": "%{x}: %{y} USD per MQTh<extra>%{fullData.name}</extra>",
            }
        )
    return _bars(data, "", "USD per MQTh")


def throughput_bars(document: Document) -> Figure:
    """Draw report D's MQTh as derived, with the interval that the price leaves."""
    data = []
    for series, name in enumerate(("hybrid", "in memory")):
        systems = [system for system in document.all("system") if system.text("name") == name]
        rows = [report_d.mqth(document, system) for system in systems]
        trace = {
            **_bar(f"{name}, derived", series, STRIPED if series else PLAIN),
            "x": [f"{system.text('drivers')} drivers" for system in systems],
            "y": [row.number("value") for row in rows],
            "text": [f"{row.number('value'):,}" for row in rows],
            "customdata": [f"{row.number('low'):,} to {row.number('high'):,}" for row in rows],
            "hovertemplate": "%{x}: %{text} MQTh, derived<br>%{customdata}<extra>%{fullData.name}</extra>",
        }
        reaches = [Reach(float(row.number("low")), float(row.number("high")), 1, is_interval=True) for row in rows]
        data += bars(trace, reaches)
    return _bars(data, "", "MQTh, derived")


def _bar(name: str, series: int, pattern: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": name,
        "marker": {"pattern": {"shape": pattern}},
        "textposition": "outside",
        "cliponaxis": False,
        "meta": {"series": series},
    }


def _bars(data: Sequence[dict[str, Any]], x_title: str, y_title: str) -> Figure:
    return {
        "data": list(data),
        "layout": {
            "barmode": "group",
            "xaxis": {"title": {"text": x_title}, "type": "category", "showgrid": False},
            "yaxis": {"title": {"text": y_title}, "type": "linear", "rangemode": "tozero", "tickformat": ",~f"},
        },
    }


def _lying(data: Sequence[dict[str, Any]], x_title: str) -> Figure:
    return {
        "data": list(data),
        "layout": {
            "barmode": "group",
            "xaxis": {"title": {"text": x_title}, "type": "linear", "rangemode": "tozero", "tickformat": ",~f"},
            "yaxis": LYING,
            "meta": {"bars": len(data[0]["y"])},
        },
    }
