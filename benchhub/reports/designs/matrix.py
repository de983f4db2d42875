"""The curves of a design by their place in its matrix, and the table of any two of its dimensions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from benchhub.analysis.curves import curve
from benchhub.analysis.curves.curve import Curve, Level, RunPoint, UnlikeRunsError
from benchhub.analysis.words import count, significant
from benchhub.bench.models import Design, Experiment, ExperimentSystem, System
from benchhub.bench.plan import designs_like as plan
from benchhub.reports.curves import curves
from benchhub.reports.curves.runs import CurveRun

from . import queries

WORKLOAD, SCALE, THREADS, SYSTEM, CLIENTS = "workload", "scale", "threads", "system", "clients"
DIMENSIONS: Mapping[str, str] = {
    WORKLOAD: "Workload",
    SCALE: "Scale",
    THREADS: "Threads",
    SYSTEM: "System",
    CLIENTS: "Clients",
}
SHADES = 8


@dataclass(frozen=True)
class Place:
    """A curve with its value in each dimension but the clients, in words."""

    values: Mapping[str, str]
    experiment: Experiment
    system: System
    curve: Curve

    def words(self, dimensions: Iterable[str]) -> str:
        """Write the values in these dimensions: scale 10, a thread per client."""
        return ", ".join(_words(dimension, self.values[dimension]) for dimension in dimensions if dimension != CLIENTS)


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the matrix: a peak, or the throughput of a level. `shade` is its share of the highest, in SHADES."""

    place: Place
    level: Level
    shade: int
    is_highest: bool

    @property
    def text(self) -> str:
        spread = self.level.throughput
        return significant(spread.mean, spread.digits)

    @property
    def is_at_edge(self) -> bool:
        peak = self.place.curve.peak
        return peak.level is self.level and bool(peak.edge)


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A table of two dimensions where all others stand still, as `title` says; empty where there are no others."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]

    def column(self, place: int) -> list[tuple[str, Cell]]:
        """Return the cells of a column that have a number, each with the value of its row."""
        return [(value, cell) for value, cells in self.rows if (cell := cells[place])]


@dataclass(frozen=True)
class Matrix:
    """All curves of a design. `problems` say which have none."""

    places: tuple[Place, ...]
    values: Mapping[str, tuple[str, ...]]
    problems: tuple[str, ...] = ()

    @classmethod
    def load(cls, design: Design, parts: Sequence[Experiment]) -> Matrix:
        """Read the curves of all parts, in a number of queries that does not grow with them."""
        rows, names = queries.systems(design), _names(parts)
        points, by_key = _points(rows, queries.runs(design)), {part.pk: part for part in parts}
        is_whole = all((row.experiment_id, row.system_id) in points for row in rows)
        reasons = {} if is_whole else queries.reasons_aside(design)
        places, problems = [], []
        for row in rows:
            part, key = by_key[row.experiment_id], (row.experiment_id, row.system_id)
            if key not in points:
                problems += _aside(row, part, reasons.get(key, ()))
                continue
            try:
                built = curve.build(points[key])
            except UnlikeRunsError as error:
                problems.append(f"{row.system.label} in '{part}' is left out: {error}")
            else:
                places.append(Place({**names[part.pk], SYSTEM: row.system.label}, part, row.system, built))
        return cls(tuple(places), _ordered(names.values(), [row.system.label for row in rows], places), tuple(problems))

    @property
    def unit(self) -> str:
        """Return the unit of all curves; empty where they have several, so that no numbers are set side by side."""
        units = {place.curve.unit for place in self.places}
        return units.pop() if len(units) == 1 else ""

    @cached_property
    def many(self) -> list[str]:
        """Return the dimensions with several values, which may be rows and columns."""
        return [dimension for dimension, values in self.values.items() if len(values) > 1]

    @cached_property
    def best(self) -> Place:
        return max(self.places, key=lambda place: place.curve.peak.level.throughput.mean)

    def rest(self, rows: str, columns: str) -> list[str]:
        """Return the other dimensions with several values; without clients, all numbers are peaks."""
        return [dimension for dimension in self.many if dimension not in (rows, columns, CLIENTS)]

    def order(self, place: Place, dimensions: Iterable[str]) -> list[int]:
        """Return the positions of a curve in these dimensions, to sort by."""
        names = [name for name in dimensions if name != CLIENTS]
        return [self.values[name].index(place.values[name]) for name in names]

    def heat_maps(self, rows: str, columns: str) -> list[HeatMap]:
        """Return a table for each combination of the other dimensions. One scale of shades serves them all."""
        rest = self.rest(rows, columns)
        groups: dict[tuple[str, ...], list[Place]] = {}
        for place in self.places:
            groups.setdefault(tuple(place.values[dimension] for dimension in rest), []).append(place)
        return [
            HeatMap(places[0].words(rest), self.values[columns], tuple(self._rows(places, rows, columns)))
            for places in groups.values()
        ]

    def _rows(self, places: Sequence[Place], rows: str, columns: str) -> Iterable[tuple[str, tuple[Cell | None, ...]]]:
        by_values = {
            (value, other): (place, level)
            for place in places
            for value, other, level in self._levels(place, rows, columns)
        }
        for value in self.values[rows]:
            pairs = [by_values.get((value, other)) for other in self.values[columns]]
            yield value, tuple(self._cell(*pair) if pair else None for pair in pairs)

    def _levels(self, place: Place, rows: str, columns: str) -> Iterable[tuple[str, str, Level]]:
        """Yield the peak of a curve, or each of its levels where clients are rows or columns."""
        levels = place.curve.levels if CLIENTS in (rows, columns) else (place.curve.peak.level,)
        for level in levels:
            values = {**place.values, CLIENTS: f"{level.clients:,}"}
            yield values[rows], values[columns], level

    def _cell(self, place: Place, level: Level) -> Cell:
        highest = self.best.curve.peak.level
        shade = min(int(SHADES * level.throughput.mean / highest.throughput.mean), SHADES - 1)
        return Cell(place, level, shade, level is highest)


def _points(rows: Sequence[ExperimentSystem], runs: Iterable[CurveRun]) -> dict[tuple[int, int], list[RunPoint]]:
    systems = {row.system_id: row.system for row in rows}
    points: dict[tuple[int, int], list[RunPoint]] = {}
    for run in runs:
        points.setdefault((run.experiment_id, run.system_id), []).append(curves.point(run, systems[run.system_id]))
    return points


def _aside(row: ExperimentSystem, part: Experiment, reasons: Sequence[str]) -> list[str]:
    """Say that all runs of a curve with a result are set aside, and why; nothing of one that has none yet."""
    if not reasons:
        return []
    why = "; ".join(dict.fromkeys(reason.rstrip(".") for reason in reasons if reason))
    set_aside = f"all {len(reasons)} runs with a result are" if len(reasons) > 1 else "its one run with a result is"
    text = f"{row.system.label} in '{part}' is left out: {set_aside} set aside"
    return [f"{text}{f' ({why})' if why else ''}. Put one back on its page, or run it again."]


def _names(parts: Sequence[Experiment]) -> dict[int, dict[str, str]]:
    """Return the values of each part by its key. Workloads that differ in scale alone have one name."""
    grid = plan.matrix(parts) if parts else None
    workloads = _workloads(grid) if grid else {}
    names: dict[int, dict[str, str]] = {}
    for (number, scale, rule), part in grid.parts.items() if grid else ():
        name = workloads[number]
        names[part.pk] = {WORKLOAD: name, SCALE: f"{scale:,}", THREADS: rule}
    return names


def _workloads(grid: plan.Matrix) -> dict[int, str]:
    """Name each workload of a design without its scale, which has a dimension of its own."""
    names: dict[int, list[str]] = {}
    for (number, _, _), part in grid.parts.items():
        names.setdefault(number, []).append(str(part.workload))
    common = {number: _without_scale(dict.fromkeys(group)) for number, group in names.items()}
    counts = Counter(common.values())
    return {number: name if counts[name] == 1 else f"{name} ({number})" for number, name in common.items()}


def _without_scale(names: Iterable[str]) -> str:
    """Return what names of one workload at several scales begin with: TPC-B of 'TPC-B, scale 10' and so on."""
    first, *others = names
    if not others:
        return first
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(first, *others, strict=False))
    start = "".join(letter for letter, *_ in alike).rstrip("0123456789")
    return re.sub(r"[\s,;:(@-]*(\b(scale|factor|size|at|s|sf)\b[\s=]*)*$", "", start, flags=re.IGNORECASE) or first


def _ordered(
    names: Iterable[Mapping[str, str]], systems: Sequence[str], places: Sequence[Place]
) -> dict[str, tuple[str, ...]]:
    """Return the values of each dimension in the order of the plan, numbers in their own."""
    rows = list(names)
    clients = sorted({level.clients for place in places for level in place.curve.levels})
    scales = sorted({int(row[SCALE].replace(",", "")) for row in rows})
    return {
        WORKLOAD: tuple(dict.fromkeys(row[WORKLOAD] for row in rows)),
        SCALE: tuple(f"{scale:,}" for scale in scales),
        THREADS: tuple(dict.fromkeys(row[THREADS] for row in rows)),
        SYSTEM: tuple(dict.fromkeys(systems)),
        CLIENTS: tuple(f"{level:,}" for level in clients),
    }


def _words(dimension: str, value: str) -> str:
    if dimension == THREADS:
        return thread_words(value)
    return f"scale {value}" if dimension == SCALE else value


def thread_words(rule: str) -> str:
    """Write a thread rule: a thread per client, a thread per 2 clients, 4 threads."""
    per_thread = rule.removeprefix("clients")
    if per_thread == rule:
        return count(int(rule), "thread")
    return f"a thread per {per_thread[1:]} clients" if per_thread else "a thread per client"


def peak_words(place: Place, dimensions: Iterable[str]) -> str:
    """Write the peak of a curve with its place: 14,300 TPS at 16 clients (scale 10, a thread per client)."""
    level = place.curve.peak.level
    mean = significant(level.throughput.mean, level.throughput.digits)
    where = place.words(dimensions)
    text = f"{mean} {place.curve.unit} at {count(level.clients, 'client')}"
    return f"{text} ({where})" if where else text
