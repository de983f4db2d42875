"""Say when in its run a doubt arose, where the series of the run know it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import steadiness
from .doubt import Doubt
from .steadiness import Span, Steadiness

# Per second, what a series must exceed for the doubt of this code to be there: (metric, limit).
EVIDENCE = {
    "throttled": ("throttled", 0.0),
    "stolen-cpu": ("cpu_steal", 1.0),
    "failures": ("failed", 0.0),
}
NEAR_S = 2.0  # spans that lie so close to each other are one


@dataclass(frozen=True, slots=True)
class Pin:
    """A doubt with its number on the page, and the seconds it is about; no seconds: the whole run."""

    number: int
    doubt: Doubt
    spans_s: tuple[Span, ...] = ()

    @property
    def place(self) -> str:
        """Write '52 to 72 s', or 'whole run'."""
        return ", ".join(f"{begin:g} to {end:g} s" for begin, end in self.spans_s) or "whole run"


@dataclass(frozen=True, slots=True)
class Grid:
    """A metric of a run: a value for each `step_s` seconds."""

    values: Sequence[float | None]
    step_s: float


def pins(doubts: Sequence[Doubt], steady: Steadiness | None, series: Mapping[str, Grid]) -> list[Pin]:
    """Return a pin for each doubt, in their order. `series` are the metrics of the run by name."""
    spans_by_text = dict(steadiness.findings(steady)) if steady else {}
    return [
        Pin(number, doubt, spans_by_text.get(doubt.text) or _evident(doubt.code, series))
        for number, doubt in enumerate(doubts, start=1)
    ]


def _evident(code: str, series: Mapping[str, Grid]) -> tuple[Span, ...]:
    metric, limit = EVIDENCE.get(code, ("", 0.0))
    return spans_above(series[metric], limit) if metric in series else ()


def spans_above(grid: Grid, limit: float) -> tuple[Span, ...]:
    """Return the seconds in which a metric exceeds the limit; spans near each other are joined."""
    joined: list[Span] = []
    for begin, end in steadiness.runs_of([value is not None and value > limit for value in grid.values]):
        begin_s, end_s = begin * grid.step_s, end * grid.step_s
        if joined and begin_s - joined[-1][1] <= NEAR_S:
            begin_s = joined.pop()[0]
        joined.append((begin_s, end_s))
    return tuple(joined)
