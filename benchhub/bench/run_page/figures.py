"""Figures of one run as plain plotly dicts; colours come from the page's theme by a trace's `series`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchhub.bench.models import LatencyHistogram, Series

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
BUCKETS_PER_DOUBLING = 4
FEW_VALUES = 60
FEWEST_DRAWN = 30  # logged transactions of a histogram that stands beside others
TIMES = ("ms", "us", "s")
TICKS_MS = [step * 10**power for power in range(-3, 6) for step in (1, 2, 5)]

TICK_TEXTS = [f"{value:,.10g}" for value in TICKS_MS]

Figure = dict[str, Any]


def series_figure(rows: Sequence[Series]) -> Figure:
    """Draw metrics of one unit over the seconds of the measured part."""
    return {
        "data": [_line(i, row, _seconds(row), row.values) for i, row in enumerate(rows)],
        "layout": {
            "xaxis": {"title": {"text": "time (s)"}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": rows[0].unit}, "rangemode": "tozero", "tickformat": ",~f"},
        },
    }


def with_warmup(figure: Figure, warmup: Series) -> Figure:
    """Return the figure with the warm-up before it, dotted, grey and called so, at negative seconds."""
    trace = _line(0, warmup, seconds_before(warmup), warmup.values)
    trace |= {"name": "warm-up, not measured", "line": {"width": 1.5, "dash": "dot"}}
    trace["meta"]["is_ghost"] = True
    return {**figure, "data": [trace, *figure["data"]]}


def seconds_before(warmup: Series) -> list[float]:
    """Return where each value's interval ends: the last at 0, where the measured part begins."""
    count = len(warmup.values)
    return [round((i + 1 - count) * warmup.step_s, 6) for i in range(count)]


def quantity_name(quantity: str, unit: str) -> str:
    """Turn latency_stddev_ms into latency stddev: its unit stands beside it. Only a unit of time is cut off."""
    if quantity == unit.lower():
        return unit
    return (quantity.removesuffix(f"_{unit}") if unit in TIMES else quantity).replace("_", " ")


def _line(number: int, series: Series, x: Sequence[float], y: Sequence[float | None]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(x) <= FEW_VALUES else "lines",
        "name": quantity_name(series.metric, series.unit),
        "x": list(x),
        "y": list(y),
        "line": {"width": 1.5, "dash": DASHES[number % len(DASHES)]},
        "marker": {"size": 5},
        "hovertemplate": f"%{{x}} s: %{{y:,.4~r}} {series.unit}<extra>%{{fullData.name}}</extra>",
        "meta": {"series": number},
    }


def _seconds(series: Series) -> list[float]:
    """Return where each value's interval ends, in seconds from the start of the measured part."""
    return [round((i + 1) * series.step_s, 6) for i in range(len(series.values))]


def latency_figure(histograms: Sequence[LatencyHistogram]) -> Figure:
    """Draw the share of transactions by latency, in four buckets of equal ratio per doubling."""
    undrawn = {histogram.name for histogram in too_few(histograms)}
    return {
        "data": [_shares(i, row) for i, row in enumerate(histograms) if row.name not in undrawn],
        "layout": {
            "xaxis": {"title": {"text": "latency (ms)"}, "type": "log", "tickvals": TICKS_MS, "ticktext": TICK_TEXTS},
            "yaxis": {"title": {"text": "share of transactions (%)"}, "rangemode": "tozero"},
        },
    }


def too_few(histograms: Sequence[LatencyHistogram]) -> list[LatencyHistogram]:
    """Return those that are not drawn beside others: of five transactions each would be a bar of 20%."""
    return [histogram for histogram in histograms[1:] if sum(histogram.counts) < FEWEST_DRAWN]


def _shares(number: int, histogram: LatencyHistogram) -> dict[str, Any]:
    """Draw the first as an area; several of these over each other could not be told apart."""
    buckets = buckets_of(histogram.lower_us, histogram.upper_us, histogram.counts)
    total = sum(buckets.values())
    first, last = min(buckets), max(buckets)
    return {
        "type": "scatter",
        "mode": "lines",
        **({} if number else {"fill": "tozeroy"}),
        "name": script_title(histogram.name),
        "x": [2 ** (bucket / BUCKETS_PER_DOUBLING) / 1000 for bucket in range(first, last + 2)],
        "y": [round(100 * buckets.get(bucket, 0) / total, 4) for bucket in range(first, last + 2)],
        "line": {"shape": "hv", "width": 1.5, "dash": DASHES[number % len(DASHES)]},
        "hovertemplate": "from %{x:.3~r} ms: %{y:.3~r}%<extra>%{fullData.name}</extra>",
        "meta": {"series": number},
    }


def script_title(histogram: str) -> str:
    """Name a histogram's script: pgbench counts scripts from 0, the page of a workload from 1."""
    number = histogram.removeprefix("latency of script ")
    if number != histogram and number.isdigit():
        return f"script {int(number) + 1}"
    if histogram.startswith("latency of segment "):
        return histogram.removeprefix("latency of ")
    return "all" if histogram == "latency" else histogram


def buckets_of(lower_us: Sequence[int], upper_us: Sequence[int], counts: Sequence[int]) -> Mapping[int, int]:
    """Return counts by bucket; bucket b begins at 2 ** (b / 4) us. A bin falls into the bucket of its middle."""
    buckets: dict[int, int] = {}
    for lower, upper, count in zip(lower_us, upper_us, counts, strict=True):
        middle = max(1.0, (lower + upper - 1) / 2)
        bucket = math.floor(BUCKETS_PER_DOUBLING * math.log2(middle))
        buckets[bucket] = buckets.get(bucket, 0) + count
    return buckets
