"""The look of a curve by its place: marker and dash here, its colour as `--series-N` of the page's style.

The place is that of its system, so that a system looks the same in every figure of a page.
"""

from __future__ import annotations

from benchhub.analysis.words import count

MARKERS = (
    "circle", "square", "diamond", "triangle-up", "cross", "star", "pentagon", "triangle-down", "bowtie", "hourglass",
    "star-diamond", "triangle-left",
)  # fmt: skip
# Those after the sixth have no name in plotly: drawn and left out, in px.
DASHES = (
    "solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "14px,4px", "2px,6px", "8px,3px,2px,3px,2px,3px",
    "4px,2px", "16px,3px,4px,3px", "3px,3px,10px,3px",
)  # fmt: skip
MOST = len(MARKERS)
GREY = MOST  # what belongs to no system, or to one that has no look of its own any more
TURNED = {
    "triangle-up": ("triangle-left", "triangle-right"),
    "triangle-down": ("triangle-right", "triangle-left"),
    "triangle-left": ("triangle-down", "triangle-up"),
    "bowtie": ("hourglass", "hourglass"),
    "hourglass": ("bowtie", "bowtie"),
}


def marker(series: int) -> str:
    return MARKERS[series % MOST]


def turned_marker(series: int) -> str:
    """Return the marker that looks like the series' own once it is turned: odd series to the left, even to the right.

    Symbols that turning leaves alike stay as they are.
    """
    symbol = marker(series)
    return TURNED.get(symbol, (symbol, symbol))[series % 2]


def dash(series: int) -> str:
    return DASHES[series % MOST]


def text(curves: int) -> str:
    """Say that looks come again where there are more curves than looks; empty where each has its own."""
    if curves <= MOST:
        return ""
    return (
        f"{count(curves, 'curve')}, and looks for {MOST}: all later ones are grey, so go by the names at their ends, "
        "or compare fewer."
    )
