"""How the outcome of a comparison with a baseline looks in a figure: only what the test tells apart has a colour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchhub.analysis.curves.ratio import LESS, MORE, Ratio
from benchhub.analysis.statistics.estimate import NOT_DISTINGUISHABLE, NOT_TESTED, WITHHELD

from . import looks


@dataclass(frozen=True, slots=True)
class Look:
    """Colour (the number of a series), pattern and marker say the same, so that nothing hangs on colour alone."""

    title: str
    series: int
    pattern: str
    marker: str


# What nothing proves is grey whatever its sign: neither the green of gains nor the red of losses.
GREY = looks.GREY
LOOKS: Mapping[str, Look] = {
    MORE: Look("gain", 2, "", "circle"),
    LESS: Look("loss", 1, "x", "square"),
    NOT_DISTINGUISHABLE: Look(NOT_DISTINGUISHABLE, GREY, "/", "diamond-open"),
    NOT_TESTED: Look(NOT_TESTED, GREY, ".", "circle-open"),
    WITHHELD: Look("interval withheld", GREY, "-", "square-open"),
}


def look(ratio: Ratio) -> Look:
    """Return the look of a ratio's verdict."""
    return LOOKS[ratio.verdict]
