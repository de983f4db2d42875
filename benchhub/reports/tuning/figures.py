"""The pictures of a tuning series: a waterfall of cumulative steps, or the effects of single and combined ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any

from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.tuning import treatments
from benchhub.reports.curves.bars import bars, bars_text, of_ratio
from benchhub.reports.curves.figures import Figure
from benchhub.reports.curves.outcomes import LOOKS, Look
from benchhub.reports.curves.outcomes import look as look_of

from .series import Series, Step

WIDEST_NAME = 22  # letters in a line


def figure(series: Series) -> Figure:
    """Return the picture of the effects that are measured; its data is empty while there are none."""
    return _waterfall(series) if series.kind == treatments.CUMULATIVE else _effects(series)


def _waterfall(series: Series) -> Figure:
    """Draw each step as a bar from what the steps before it make to what it makes, in per cent of the baseline."""
    steps = [step for step in series.steps if step.effect.ratio and step.running]
    names = ["baseline", *(_name(step) for step in steps)]
    total = series.effects.total
    ends = [names[0], *(["together"] if total else [])]
    traces = [_bars("baseline and together", ends, [0.0] * len(ends), [100.0, *_percents(total)], 6, "")]
    return {
        "data": [*traces, *_moves(steps)] if steps else [],
        "layout": {
            "xaxis": {"title": {"text": "% of the baseline"}, "tickformat": ",~f", "rangemode": "tozero"},
            "yaxis": _names([*names, *ends[1:]]),
            "barmode": "overlay",
            "meta": {"bars": len(names) + len(ends) - 1, "bars_text": _bars_text(step.effect.ratio for step in steps)},
        },
    }


def _names(names: Sequence[str]) -> dict[str, Any]:
    """Return an axis of names from top to bottom."""
    return {"type": "category", "categoryorder": "array", "categoryarray": list(reversed(names)), "title": {"text": ""}}


def _percents(ratio: Ratio | None) -> list[float]:
    return [100 * ratio.value] if ratio else []


def _moves(steps: Sequence[Step]) -> list[dict[str, Any]]:
    traces = []
    for look in LOOKS.values():
        rows = [(step, step.effect.ratio, step.running) for step in steps]
        moves = [
            (_name(step), 100 * running.value / ratio.value, ratio)
            for step, ratio, running in rows
            if ratio and running and look_of(ratio) is look
        ]
        if moves:
            y, base = [name for name, _, _ in moves], [start for _, start, _ in moves]
            lengths = [start * (ratio.value - 1) for _, start, ratio in moves]
            trace = _bars(look.title, y, base, lengths, look.series, look.pattern)
            traces += bars(trace, [of_ratio(ratio, start) for _, start, ratio in moves], "x")
    return traces


def _bars(
    name: str, y: Sequence[str], base: Sequence[float], lengths: Sequence[float], number: int, shape: str
) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": list(y),
        "base": list(base),
        "x": list(lengths),
        "marker": {"pattern": {"shape": shape}},
        "hovertemplate": "%{y}: %{x:+,.3~r}% of the baseline<extra>%{fullData.name}</extra>",
        "meta": {"series": number},
    }


def _effects(series: Series) -> Figure:
    """Draw each effect as a point with its interval, in per cent; interactions below the steps."""
    rows = [(_name(step), step.effect.ratio) for step in series.steps]
    rows += [(" with ".join(map(str, row.effect.steps)), row.effect.ratio) for row in series.interactions]
    measured = [(name, ratio) for name, ratio in rows if ratio]
    return {
        "data": [trace for look in LOOKS.values() for trace in _points(look, measured)],
        "layout": {
            "xaxis": {"title": {"text": "change of throughput (%)"}, "ticksuffix": "%", "zeroline": True},
            "yaxis": _names([name for name, _ in measured]),
            "meta": {"bars": len(measured), "bars_text": _bars_text(ratio for _, ratio in measured)},
        },
    }


def _points(look: Look, rows: Sequence[tuple[str, Ratio]]) -> list[dict[str, Any]]:
    points = [(name, ratio) for name, ratio in rows if look_of(ratio) is look]
    if not points:
        return []
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": look.title,
        "x": [100 * (ratio.value - 1) for _, ratio in points],
        "y": [name for name, _ in points],
        "marker": {"symbol": look.marker, "size": 11},
        "hovertemplate": "%{y}: %{x:+,.3~r}%<extra>%{fullData.name}</extra>",
        "meta": {"series": look.series},
    }
    return bars(trace, [of_ratio(ratio, 100.0, zero=1.0) for _, ratio in points], "x")


def _bars_text(ratios: Iterable[Ratio | None]) -> str:
    return bars_text(of_ratio(ratio) for ratio in ratios if ratio)


def _name(step: Step) -> str:
    return "<br>".join(wrap(f"{step.number}. {step.name}", WIDEST_NAME))
