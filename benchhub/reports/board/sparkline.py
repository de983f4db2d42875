"""Draw a few values as a line without axes, beside the newest of them as a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchhub.analysis.words import count, significant

WIDTH, HEIGHT, EDGE = 100, 24, 2
LEAST_SPAN = 0.2  # of the mean: so that noise of a per cent does not look like a mountain


@dataclass(frozen=True, slots=True)
class Sparkline:
    """`points` are those of an SVG polyline; `words` say what is drawn to those who do not see it."""

    points: str
    words: str


def sparkline(values: Sequence[float], unit: str) -> Sparkline | None:
    """Draw the values in their order; None for fewer than two."""
    if len(values) < 2:
        return None
    lowest, highest = min(values), max(values)
    middle, span = (lowest + highest) / 2, max(highest - lowest, LEAST_SPAN * sum(values) / len(values)) or 1.0
    step, height = (WIDTH - 2 * EDGE) / (len(values) - 1), HEIGHT - 2 * EDGE
    heights = (HEIGHT / 2 - (value - middle) / span * height for value in values)
    points = " ".join(f"{EDGE + step * place:.1f},{y:.1f}" for place, y in enumerate(heights))
    ends = " to ".join(significant(value, 3) for value in (lowest, highest))
    return Sparkline(points, f"{count(len(values), 'value')} from {ends} {unit}, the newest {_newest(values, unit)}")


def _newest(values: Sequence[float], unit: str) -> str:
    return f"{significant(values[-1], 3)} {unit}"
