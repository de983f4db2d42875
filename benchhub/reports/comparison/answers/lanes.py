"""The repeats of each level and the ratio with its interval, placed on one axis of ratios that all levels share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchhub.analysis.curves import ratio
from benchhub.analysis.statistics.estimate import NOT_DISTINGUISHABLE, NOT_TESTED, WITHHELD
from benchhub.analysis.words import significant

from .levels import NO_VERDICT, Cell, Row

LEAST_REACH = math.log(1.05)  # so that noise of a per cent or two does not fill the axis
MOST_LISTED = 20  # runs of a curve at a level, each with its links
ROOM = 1.06  # beyond the outermost mark
ABOVE, BELOW = 8, 17  # px from the top of a lane: the curve's repeats, the baseline's
VERDICTS = {NOT_DISTINGUISHABLE: "no difference shown", NOT_TESTED: NOT_TESTED, WITHHELD: NO_VERDICT}


@dataclass(frozen=True, slots=True)
class Dot:
    """A repeat: its curve's series, its place `x` in per cent of the axis, and its height `y` in px of the lane."""

    series: int
    x: str
    y: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """A run behind a lane: its number, its curve's series and label, and its throughput in words."""

    run: int
    series: int
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """How many runs of a curve are behind a lane and not listed, with what finds them in the list of runs."""

    runs: int
    experiment_id: int
    system_id: int
    series: int
    label: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A level: its repeats as dots, and of a curve against the baseline the ratio, from `low` to `high` if those are
    known, as places in per cent of the axis; `verdict` in words, `is_shown` where the two are told apart. Of `repeats`
    it lists the last ones of each curve, and `earlier` counts the others by curve.
    """

    clients: int
    experiment_id: int
    series: int
    label: str
    value: str
    baseline_value: str
    times: str
    dots: tuple[Dot, ...]
    middle: str
    low: str
    width: str
    verdict: str
    is_shown: bool
    repeats: tuple[Repeat, ...]
    earlier: tuple[Earlier, ...] = ()

    @property
    def runs(self) -> int:
        return len(self.repeats) + sum(earlier.runs for earlier in self.earlier)


@dataclass(frozen=True, slots=True)
class Lanes:
    """All lanes; `first` and `last` are the ratios at the ends of their axis, in words. 1x lies in the middle."""

    rows: tuple[Lane, ...]
    first: str
    last: str

    @property
    def has_several(self) -> bool:
        """Tell whether more than one curve is set against the baseline."""
        return len({lane.series for lane in self.rows}) > 1


def lanes(rows: Sequence[Row]) -> Lanes:
    """Return a lane for each curve and level that has a ratio to the baseline."""
    pairs = [(row, cell, base) for row in rows if (base := _baseline(row)) for cell in row.cells if _is_beside(cell)]
    reach = ROOM * max([LEAST_REACH, *(_reach(cell, base) for _, cell, base in pairs if cell)])
    drawn = tuple(_lane(row, cell, base, reach) for row, cell, base in pairs if cell)
    return Lanes(drawn, ratio.times(math.exp(-reach)), ratio.times(math.exp(reach)))


def _baseline(row: Row) -> Cell | None:
    return next((cell for cell in row.cells if cell and cell.is_baseline), None)


def _is_beside(cell: Cell | None) -> bool:
    return cell is not None and not cell.is_baseline and cell.ratio is not None


def _logs(cell: Cell, base: Cell) -> list[float]:
    return [math.log(value / base.level.throughput.mean) for value in cell.level.values]


def _ends(cell: Cell) -> list[float]:
    bounds = cell.ratio.bounds if cell.ratio else None
    return [math.log(end) for end in bounds] if bounds else []


def _reach(cell: Cell, base: Cell) -> float:
    return max(map(abs, (*_logs(cell, base), *_logs(base, base), *_ends(cell))))


def _lane(row: Row, cell: Cell, base: Cell, reach: float) -> Lane:
    assert cell.ratio is not None
    dots = [*_dots(cell, base, reach, ABOVE), *_dots(base, base, reach, BELOW)]
    low, high = _ends(cell) or [math.log(cell.ratio.value)] * 2
    width = f"{50 * (high - low) / reach:.2f}"
    verdict = VERDICTS.get(cell.ratio.verdict, f"{cell.entry.label} {cell.ratio.verdict}")
    return Lane(
        row.clients, cell.entry.experiment.pk, cell.entry.series, cell.entry.label, _value(cell), _value(base),
        cell.times, tuple(dots),
        _place(math.log(cell.ratio.value), reach), _place(low, reach), width, verdict, cell.ratio.is_distinguishable,
        (*_repeats(base), *_repeats(cell)), (*_earlier(base), *_earlier(cell)),
    )  # fmt: skip


def _dots(cell: Cell, base: Cell, reach: float, y: int) -> list[Dot]:
    return [Dot(cell.entry.series, _place(log, reach), y) for log in _logs(cell, base)]


def _repeats(cell: Cell) -> list[Repeat]:
    digits, entry = cell.level.throughput.digits, cell.entry
    runs = cell.level.runs[-MOST_LISTED:]
    return [Repeat(run.run, entry.series, entry.label, significant(run.throughput, digits)) for run in runs]


def _earlier(cell: Cell) -> Iterator[Earlier]:
    runs, entry = len(cell.level.runs) - MOST_LISTED, cell.entry
    if runs > 0:
        yield Earlier(runs, entry.experiment.pk, entry.system.pk, entry.series, entry.label)


def _value(cell: Cell) -> str:
    spread = cell.level.throughput
    return significant(spread.mean, spread.digits)


def _place(log: float, reach: float) -> str:
    return f"{50 + 50 * log / reach:.2f}"
