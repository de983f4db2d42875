"""Draw prices along the axis: a line and its band for each choice, a mark at each flip, and the handle."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from textwrap import wrap
from typing import Any

from benchhub.analysis.pricing.laboratory.flips import Flip
from benchhub.analysis.pricing.laboratory.laboratory import Point
from benchhub.reports.curves import looks
from benchhub.reports.curves.figures import Figure
from benchhub.reports.prices.figures import label

from .setup import Setup, Subject

STROKES = ("", "6 4", "2 2", "6 2 2 2", "10 4", "10 2 2 2")  # of the first looks.DASHES
MOST_WRITTEN = 4
HEADROOM = 1.06
NAME_WIDTH = 30


def figure(setup: Setup) -> Figure:
    """Return the chart; `meta` has the names that stand at the ends of lines."""
    lines = [(subject, setup.laboratory.points(subject.choice)) for subject in setup.drawn]
    top = HEADROOM * max((float(point.price or 0) for _, points in lines for point in points), default=1.0)
    traces = [*(_band(subject, points) for subject, points in lines if subject.load.level.throughput.n > 1)]
    traces += [_line(setup, subject, points) for subject, points in lines]
    traces += [_marks(setup), _handle(setup, top)]
    low, high = float(setup.axis.low), float(setup.axis.high)
    return {
        "data": traces,
        "layout": {
            "xaxis": {
                "title": {"text": _title(setup)}, "range": [low, high], "tickformat": ",~f", "fixedrange": True,
            },
            "yaxis": {
                "title": {"text": f"price ({setup.unit})"}, "range": [0, top or 1], "tickformat": ",~f",
                "fixedrange": True,
            },
            "dragmode": False,
            "meta": {"names": [_name(setup, subject, points) for subject, points in lines]},
        },
    }  # fmt: skip


def _title(setup: Setup) -> str:
    return f"{setup.handle.title},<br>{setup.handle.unit_words}"


def strokes(place: int) -> str:
    """Return the same pattern as SVG writes it."""
    return STROKES[place % len(STROKES)]


def pattern(place: int) -> str:
    """Return the pattern of the lines of a licence, by its place among those that are shown."""
    return looks.dash(place % len(STROKES))


def _line(setup: Setup, subject: Subject, points: Sequence[Point]) -> dict[str, Any]:
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers" if setup.axis.is_whole else "lines",
        "name": subject.choice.name,
        "showlegend": False,
        "x": [float(point.value) for point in points],
        "y": [None if point.price is None else float(point.price) for point in points],
        "line": {"dash": pattern(setup.comparison.prices.licence_models.index(subject.model)), "width": 2},
        "marker": {"symbol": looks.marker(subject.entry.series), "size": 6},
        "hovertemplate": f"%{{y:,.4~r}} {setup.unit} at %{{x:,~f}}<extra>%{{fullData.name}}</extra>",
        "meta": {"series": subject.entry.series},
    }
    return trace


def _band(subject: Subject, points: Sequence[Point]) -> dict[str, Any]:
    """Draw what the scatter of the throughput leaves open around a line."""
    spans = [
        (float(point.value), float(point.low), float(point.high))
        for point in points
        if point.low is not None and point.high is not None
    ]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{subject.choice.name}, range",
        "showlegend": False,
        "x": [value for value, *_ in spans] + [value for value, *_ in reversed(spans)],
        "y": [low for _, low, _ in spans] + [high for *_, high in reversed(spans)],
        "fill": "toself",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "meta": {"series": subject.entry.series},
    }


def _marks(setup: Setup) -> dict[str, Any]:
    """Mark each flip; those of one system or licence, and of the cheapest of all, are full and written."""
    flips = [(flip, sentence) for group, sentence in setup.groups for flip in group]
    main = [flip.is_of_one_system or flip.is_of_one_licence or _is_of_cheapest(setup, flip) for flip, _ in flips]
    written = _written([flip for (flip, _), is_main in zip(flips, main, strict=True) if is_main])
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": "break-even points",
        "showlegend": False,
        "x": [float(flip.value) for flip, _ in flips],
        "y": [float(flip.price or 0) for flip, _ in flips],
        "text": [setup.axis.number_words(flip.value) if flip in written else "" for flip, _ in flips],
        "textposition": "top center",
        "customdata": [label(sentence) for _, sentence in flips],
        "marker": {"symbol": ["diamond" if is_main else "circle-open" for is_main in main], "size": 9, "opacity": 1},
        "hovertemplate": "%{customdata}<extra></extra>",
        "meta": {"series": looks.GREY},
    }


def _written(flips: Sequence[Flip]) -> list[Flip]:
    """Return the flips whose value is written: of those at one value the uppermost, where there is most room."""
    uppermost: dict[Decimal, Flip] = {}
    for flip in sorted(flips, key=lambda flip: flip.price or 0):
        uppermost[flip.value] = flip
    return list(uppermost.values())[-MOST_WRITTEN:]


def _is_of_cheapest(setup: Setup, flip: Flip) -> bool:
    """Tell whether the cheapest of all changes at a flip."""
    ends = zip(setup.stretches, setup.stretches[1:], strict=False)
    return any(
        flip.first in before.choices and flip.other in after.choices and before.low <= flip.value <= after.high
        for before, after in ends
    )


def _handle(setup: Setup, top: float) -> dict[str, Any]:
    value = float(setup.handle.value)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "handle",
        "showlegend": False,
        "x": [value, value],
        "y": [0, top],
        "line": {"width": 2, "dash": "dot"},
        "hoverinfo": "skip",
        "meta": {"series": looks.GREY, "is_handle": True},
    }


def _name(setup: Setup, subject: Subject, points: Sequence[Point]) -> dict[str, Any]:
    """Place a choice's name at the last point of its line; `number` is its place in the table beside."""
    last = next((point for point in reversed(points) if point.price is not None), points[-1])
    place = setup.place(subject)
    parts = (f"{place} {subject.choice.system_label}", subject.choice.licence_label)
    text = "<br>".join(line for part in parts for line in wrap(part, NAME_WIDTH))
    ends = {"x": float(last.value), "y": float(last.price or 0)}
    return {"text": text, "number": str(place), **ends, "series": subject.entry.series}
