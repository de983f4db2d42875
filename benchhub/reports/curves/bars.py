"""Bars beside the numbers of a figure: an interval has caps, a range of repeats is dotted, a single run has no bar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.statistics.spread import Spread
from benchhub.analysis.words import listing

Trace = dict[str, Any]
Axis = Literal["x", "y"]
LINE_PX, CAP_PX = 1.5, 5


@dataclass(frozen=True, slots=True)
class Reach:
    """From where to where a number reaches, on the axis that it is drawn on; `n` is the number of its repeats."""

    low: float
    high: float
    n: int
    is_interval: bool = False

    @property
    def is_range(self) -> bool:
        """Tell whether it is the range of repeats; a single run has none."""
        return not self.is_interval and self.n > 1


def of_spread(spread: Spread) -> Reach:
    return Reach(spread.low, spread.high, spread.n, spread.interval is not None)


def of_ratio(ratio: Ratio, scale: float = 1.0, zero: float = 0.0) -> Reach:
    """Return the reach of (ratio - zero) x scale. One whose interval is withheld has no bar, like a single run."""
    if ratio.bounds is None:
        return Reach(scale * (ratio.value - zero), scale * (ratio.value - zero), 1)
    low, high = (scale * (bound - zero) for bound in ratio.bounds)
    return Reach(low, high, max(ratio.n, ratio.baseline_n), ratio.is_tested)


def bars(trace: Trace, reaches: Sequence[Reach], along: Axis = "y") -> list[Trace]:
    """Return the trace with its intervals, followed by a trace of its ranges if there are any.

    `reaches` are those of its points, in their order.
    """
    if any(reach.is_interval for reach in reaches):
        trace = {**trace, f"error_{along}": _intervals(_ends(trace, along), reaches)}
    if not any(reach.is_range for reach in reaches):
        return [trace]
    trace = {"legendgroup": trace["name"], **trace}
    return [trace, _ranges(trace, reaches, along)]


def bars_text(reaches: Iterable[Reach]) -> str:
    """Say what the bars of a figure are, as one sentence; empty where nothing is drawn."""
    drawn = list(reaches)
    numbers = sorted({reach.n for reach in drawn if reach.is_range})
    parts = [
        "a bar with caps is a 95% interval" if any(reach.is_interval for reach in drawn) else "",
        f"a dotted bar is the range of {listing(map(str, numbers), 'or')} repeats" if numbers else "",
        "a single run has no bar" if any(reach.n < 2 for reach in drawn) else "",
    ]
    text = "; ".join(filter(None, parts))
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _ends(trace: Trace, along: Axis) -> list[float]:
    """Return where the points are, or where bars end that begin elsewhere than at 0."""
    bases = trace.get("base") or [0.0] * len(trace[along])
    return [float(base) + float(value) for base, value in zip(bases, trace[along], strict=True)]


def _intervals(ends: Sequence[float], reaches: Sequence[Reach]) -> dict[str, Any]:
    pairs = list(zip(ends, reaches, strict=True))
    return {
        "type": "data",
        "symmetric": False,
        "array": [reach.high - end if reach.is_interval else None for end, reach in pairs],
        "arrayminus": [end - reach.low if reach.is_interval else None for end, reach in pairs],
        "thickness": LINE_PX,
        "width": CAP_PX,
    }


def _ranges(trace: Trace, reaches: Sequence[Reach], along: Axis) -> Trace:
    across = "x" if along == "y" else "y"
    ranges = [(place, reach) for place, reach in zip(trace[across], reaches, strict=True) if reach.is_range]
    grouped = {"offsetgroup": trace["offsetgroup"]} if "offsetgroup" in trace else {}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{trace['name']}, range of repeats",
        "showlegend": False,
        "legendgroup": trace["legendgroup"],
        **grouped,
        across: [place for place, _ in ranges for _ in range(3)],
        along: [end for _, reach in ranges for end in (reach.low, reach.high, None)],
        "line": {"dash": "dot", "width": LINE_PX},
        "hoverinfo": "skip",
        "meta": {**trace["meta"], "is_on_bar": trace["type"] == "bar"},
    }
