"""Panels above each other over one axis of seconds, as a plain plotly dict: zoomed together, with one time cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchhub.analysis.doubts.pins import Pin
from benchhub.analysis.doubts.steadiness import Span

from .panels import Line, Panel, Timeline

GAP = 0.45  # of a panel's height: room for its title and the names of its lines
NAMED_SHARE = 0.12  # of the axis: a checkpoint as wide as its name
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


@dataclass(frozen=True, slots=True)
class View:
    """Some of a timeline's panels: as a figure, and as a table with a row for each moment."""

    figure_id: str
    panels: Sequence[Panel]
    figure: dict[str, Any]
    rows: Sequence[Sequence[float | None]]


def view(
    figure_id: str, timeline: Timeline, panels: Sequence[Panel], pins: Sequence[Pin] = (), *, has_reading: bool = False
) -> View:
    """Return the view with what is pinned to its seconds.

    `has_reading`: its values stand beside the time cursor, each with name and colour.
    """
    lines = [line for panel in panels for line in panel.lines]
    # A last moment of the machine may end behind the last one of the load.
    seconds = sorted({*timeline.seconds, *(line.step_s * len(line.values) for line in lines)})
    rows = [(second, *(line.at(second) for line in lines)) for second in seconds]
    figure = draw(timeline.seconds, timeline.checkpoints, panels, pins)
    figure["layout"]["meta"]["reading"] = has_reading
    return View(figure_id, panels, figure, rows)


def draw(
    seconds: Sequence[int], checkpoints: Sequence[Span], panels: Sequence[Panel], pins: Sequence[Pin] = ()
) -> dict[str, Any]:
    """Return the figure; the first panel stands at the top. The titles of panels come before all other annotations."""
    spans = [(str(pin.number), span) for pin in pins for span in pin.spans_s]
    wide = [span for span in checkpoints if span[1] - span[0] >= NAMED_SHARE * max(seconds, default=0)]
    top = _top(0, len(panels))
    layout: dict[str, Any] = {
        "xaxis": _time_axis(len(panels)),
        "annotations": [
            *(_title(panel, _top(i, len(panels))) for i, panel in enumerate(panels)),
            *(_mark("checkpoint", span, top) for span in wide),
            *(_mark("doubt", span, top, text) for text, span in spans),
        ],
        "shapes": [
            *(_span("checkpoint", *span) for span in checkpoints),
            *(_span("doubt", *span) for _, span in spans),
        ],
        "hovermode": "x",
        "hoversubplots": "axis",
        "meta": {"panels": len(panels)},
    }
    for i, panel in enumerate(panels):
        top = _top(i, len(panels))
        layout[f"yaxis{_number(i)}"] = _value_axis(top, len(panels), panel)
        layout[f"legend{_number(i)}"] = {
            "orientation": "h", "x": 1, "xanchor": "right", "y": top, "yanchor": "bottom",
        }  # fmt: skip
    traces = [_trace(i, n, line) for i, panel in enumerate(panels) for n, line in enumerate(panel.lines)]
    return {"data": traces, "layout": layout}


def _number(panel: int) -> str:
    """Return what plotly writes behind the name of a panel's axis and legend: nothing for the first."""
    return str(panel + 1) if panel else ""


def _height(panels: int) -> float:
    return 1 / (panels + GAP * panels)


def _top(panel: int, panels: int) -> float:
    height = _height(panels)
    return round(1 - GAP * height - panel * height * (1 + GAP), 6)


def _time_axis(panels: int) -> dict[str, Any]:
    return {
        "title": {"text": "time (s)"},
        "rangemode": "tozero",
        "anchor": f"y{_number(panels - 1)}",
        "showspikes": True,
        "spikemode": "across",
        "spikesnap": "hovered data",
        "spikedash": "dot",
        "spikethickness": 1,
    }


def _value_axis(top: float, panels: int, panel: Panel) -> dict[str, Any]:
    is_whole = panel.unit == "%" and all(line.is_area for line in panel.lines)
    return {
        "domain": [max(0.0, round(top - _height(panels), 6)), top],
        "anchor": "x",
        "rangemode": "tozero",
        "nticks": 4,
        "tickformat": ",~f",
        **({"range": [0, 100]} if is_whole else {}),
    }


def _title(panel: Panel, top: float) -> dict[str, Any]:
    unit = f", {panel.unit}" if panel.unit.lower() != panel.title.lower() else ""
    return {
        "text": f"<b>{panel.title}</b>{unit}", "showarrow": False, "xref": "paper", "yref": "paper",
        "x": 0, "xanchor": "left", "y": top, "yanchor": "bottom",
    }  # fmt: skip


def _span(kind: str, begin_s: float, end_s: float) -> dict[str, Any]:
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": begin_s, "x1": end_s, "y0": 0, "y1": 1,
        "line": {"width": 1 if kind == "doubt" else 0, "dash": "dot"}, "layer": "below", "meta": kind,
    }  # fmt: skip


def _mark(kind: str, span: Span, top: float, text: str = "") -> dict[str, Any]:
    """Return a label at the top of a span: the number of a doubt in its middle, or what it is at its beginning."""
    at = {"x": (span[0] + span[1]) / 2, "xanchor": "center"} if text else {"x": span[0], "xanchor": "left"}
    return {
        "text": f"<b>{text}</b>" if text else kind, "showarrow": False, "xref": "x", "yref": "paper", **at,
        "y": top, "yanchor": "top", "name": kind, "font": {"size": 11},
    }  # fmt: skip


def _drawn(value: float) -> float:
    """Round a value to the digits that are read beside the time cursor: a page with ten minutes of lines is light."""
    rounded = float(f"{value:.4g}" if abs(value) >= 1000 else f"{value:.3g}")
    return int(rounded) if rounded.is_integer() else rounded


def _trace(panel: int, number: int, line: Line) -> dict[str, Any]:
    area = {"stackgroup": f"panel {panel}", "fill": "tonexty" if number else "tozeroy"} if line.is_area else {}
    is_thin = line.is_area or line.is_ghost
    return {
        "type": "scatter",
        "mode": "lines",
        "name": line.name,
        # Each moment is a step after the last, and the first a step after 0.
        "x0": line.step_s,
        "dx": line.step_s,
        "y": [None if value is None else _drawn(value) for value in line.values],
        "yaxis": f"y{_number(panel)}",
        "legend": f"legend{_number(panel)}",
        "line": {
            "width": 0.5 if line.is_area else 1 if line.is_ghost else 1.5,
            "dash": "solid" if is_thin else DASHES[number % len(DASHES)],
        },
        "hoverinfo": "none",
        "meta": {"series": number, "alpha": 0.6 if line.is_area else 0.16, "is_ghost": line.is_ghost},
        **({"showlegend": False} if line.is_ghost else {}),
        **area,
    }
