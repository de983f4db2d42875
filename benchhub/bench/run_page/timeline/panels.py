"""What belongs over a run's one axis of time: panels of lines, each on the same seconds of the measured part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from benchhub.analysis.doubts.pins import EVIDENCE, Grid
from benchhub.bench.models import RunTelemetry, Series
from runners.telemetry.metrics import BY_NAME, DRIVER_PREFIX, WAIT_PANEL, WAIT_PREFIX

# Of the first panels together: what is drawn at once takes some 17 kB of a page that may have 30.
MOST_MOMENTS, FEWEST_MOMENTS, MOST_VALUES = 600, 120, 7_200
THROUGHPUT, LATENCY = "Throughput", "Latency"
OF_DRIVER = " of the driver"
FIRST = (THROUGHPUT, LATENCY, "CPU", "Disks", WAIT_PANEL, f"CPU{OF_DRIVER}")
PERCENTILES = ("p50", "p95", "p99")
LOAD_GENERATOR, BENCHHUB = "load generator", "BenchHub"
CHECKPOINTING, STARTED = "checkpointing", "checkpoints_started"

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One metric on the timeline's seconds. Areas of a panel stand on each other; a ghost is of an earlier repeat."""

    name: str
    values: Values
    step_s: int
    is_area: bool = False
    is_ghost: bool = False

    def at(self, second: int) -> float | None:
        """Return the value of the moment that ends at this second; None where none ends."""
        place, rest = divmod(second, self.step_s)
        return self.values[place - 1] if not rest and place <= len(self.values) else None


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines of one unit that are read together."""

    title: str
    unit: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """One metric as it was stored, with where it is drawn and who noted it."""

    panel: str
    unit: str
    name: str
    step_s: float
    values: Sequence[float | None]
    is_area: bool = False
    is_ghost: bool = False
    origin: str = LOAD_GENERATOR

    @property
    def end_s(self) -> float:
        return self.step_s * len(self.values)

    @property
    def is_of_load(self) -> bool:
        """Tell whether it is the run's own throughput or latency, in which doubts are looked for by the second."""
        return self.panel in (THROUGHPUT, LATENCY) and not self.is_ghost


@dataclass(frozen=True)
class Timeline:
    """Everything over time from one beginning; a moment is as many seconds as keep a line within so many moments.

    Where many lines are drawn, those of machine and server have longer moments than the load: a stall of a second is
    seen however many there are.
    """

    sources: Sequence[Source]

    @cached_property
    def step_s(self) -> int:
        coarsest_s = max((source.step_s for source in self.sources), default=1)
        return max(math.ceil(coarsest_s), math.ceil(self._end_s / MOST_MOMENTS), 1)

    @cached_property
    def machine_step_s(self) -> int:
        """Return the step of what is not of the load, a multiple of the load's: the more lines, the longer."""
        lines = sum(source.panel in FIRST and not source.is_of_load and not _is_zero(source) for source in self.sources)
        moments = max(FEWEST_MOMENTS, min(MOST_MOMENTS, MOST_VALUES // max(lines, 1)))
        return self.step_s * max(math.ceil(self._end_s / moments / self.step_s), 1)

    @cached_property
    def _end_s(self) -> float:
        return max((source.end_s for source in self.sources), default=0)

    @cached_property
    def seconds(self) -> list[int]:
        """Return where each moment of the load ends, in seconds from the beginning of the measured part."""
        return self._ends(self.step_s)

    def _ends(self, step_s: int) -> list[int]:
        moments = max((math.ceil(source.end_s / step_s - 1e-6) for source in self.sources), default=0)
        return [step_s * (i + 1) for i in range(moments)]

    @property
    def has_ghosts(self) -> bool:
        return any(source.is_ghost for source in self.sources)

    @property
    def is_averaged(self) -> bool:
        return any(source.step_s < self._step_of(source) for source in self.sources)

    def _step_of(self, source: Source) -> int:
        return self.step_s if source.is_of_load else self.machine_step_s

    @cached_property
    def first(self) -> list[Panel]:
        """Return the panels that nearly everybody looks at, in their order."""
        panels = {panel.title: panel for panel in self._panels}
        return [panels[title] for title in FIRST if title in panels]

    @cached_property
    def further(self) -> list[Panel]:
        return [panel for panel in self._panels if panel.title not in FIRST]

    @cached_property
    def zeros(self) -> list[tuple[str, list[str]]]:
        """Return what was 0 all the time, and is not drawn, by panel."""
        zeros = sorted((source for source in self.sources if _is_zero(source)), key=lambda source: source.panel)
        groups = groupby(zeros, key=lambda source: source.panel)
        return [(panel, [source.name for source in group]) for panel, group in groups]

    @cached_property
    def checkpoints(self) -> list[tuple[float, float]]:
        """Return when checkpoints were under way, in seconds: as the checkpointer was seen, else as they were begun."""
        by_name = {source.name: source for source in self.sources if source.panel == "Checkpoints"}
        source = by_name.get(BY_NAME[CHECKPOINTING].words) or by_name.get(BY_NAME[STARTED].words)
        if source is None:
            return []
        return list(_spans([bool(value) for value in source.values], source.step_s))

    @cached_property
    def _panels(self) -> list[Panel]:
        drawn = [source for source in self.sources if not _is_zero(source)]
        titles = list(dict.fromkeys(source.panel for source in drawn))
        by_title = {title: [source for source in drawn if source.panel == title] for title in titles}
        return [Panel(title, sources[0].unit, tuple(map(self._line, sources))) for title, sources in by_title.items()]

    def _line(self, source: Source) -> Line:
        step_s = self._step_of(source)
        return Line(source.name, tuple(self._averaged(source, step_s)), step_s, source.is_area, source.is_ghost)

    def _averaged(self, source: Source, step_s: int) -> Iterable[float | None]:
        """Yield for each moment the mean of what is known of it."""
        for end_s in self._ends(step_s):
            first, last = (round((end_s - back_s) / source.step_s) for back_s in (step_s, 0))
            values = [value for value in source.values[first:last] if value is not None]
            yield sum(values) / len(values) if values else None


def timeline_of(
    series: Sequence[Series], telemetry: Sequence[RunTelemetry], ghosts: Sequence[Source] = (), origin: str = BENCHHUB
) -> Timeline | None:
    """Return the timeline of a run with telemetry, or with other runs; None where nothing is drawn.

    `origin` is who noted the telemetry.
    """
    if not (telemetry or ghosts):
        return None
    places = {name: place for place, name in enumerate(BY_NAME)}
    rows = sorted(telemetry, key=lambda row: places.get(row.metric, len(places)))
    timeline = Timeline([*of_load(series), *ghosts, *of_machine(rows, origin)])
    return timeline if timeline.first else None


def of_load(series: Sequence[Series]) -> list[Source]:
    """Return throughput, and latency: its percentiles where transactions were logged second by second, or its mean."""
    throughputs = [row for row in series if row.metric == row.unit.lower()]
    latencies = [row for row in series if row.metric in ("latency_ms", "latency_of_all_ms")]
    percentiles = [row for row in series if row.metric in [f"latency_{name}_ms" for name in PERCENTILES]]
    plans = [row for row in series if row.metric == f"planned_{row.unit.lower()}"]
    return [
        *(Source(THROUGHPUT, row.unit, row.unit, row.step_s, row.values) for row in throughputs[:1]),
        *(Source(THROUGHPUT, row.unit, "planned", row.step_s, row.values) for row in plans),
        *(_latency(row) for row in sorted(percentiles, key=lambda row: row.metric)),
        *(_latency(row, "mean") for row in latencies[:1]),
    ]


def _latency(row: Series, name: str = "") -> Source:
    return Source(LATENCY, row.unit, name or row.metric.split("_")[1], row.step_s, row.values)


def ghost(name: str, series: Sequence[Series]) -> list[Source]:
    """Return the throughput of an earlier repeat, and the one latency by which repeats are compared: p95 or mean."""
    sources = of_load(series)
    latencies = [source for source in sources if source.panel == LATENCY and source.name in ("p95", "mean")]
    throughputs = [source for source in sources if source.panel == THROUGHPUT]
    drawn = [*throughputs[:1], *latencies[:1]]
    return [
        replace(source, name=f"{name}, {source.name}" if source.panel == LATENCY else name, is_ghost=True)
        for source in drawn
    ]


def of_machine(rows: Iterable[RunTelemetry], origin: str = BENCHHUB) -> list[Source]:
    """Return what was observed of machine and server, without what cannot be read any more."""
    return [replace(source, origin=origin) for source in map(_of_machine, rows) if source is not None]


def grids(rows: Iterable[RunTelemetry]) -> dict[str, Grid]:
    """Return by metric the values in which doubts are looked for; nothing of a row that is damaged."""
    metrics = [metric for metric, _ in EVIDENCE.values()]
    return {row.metric: grid for row in rows if row.metric in metrics and (grid := _grid(row))}


def _grid(row: RunTelemetry) -> Grid | None:
    try:
        return Grid(row.values, row.step_s)
    except ValueError:
        return None


def _of_machine(row: RunTelemetry) -> Source | None:
    """Return a row of telemetry with the words of its metric; None for a metric that is no more, or damaged."""
    if (grid := _grid(row)) is None:
        return None
    values = grid.values
    if row.metric.startswith(WAIT_PREFIX):
        return Source(WAIT_PANEL, row.unit, row.metric.removeprefix(WAIT_PREFIX), row.step_s, values, is_area=True)
    if (metric := BY_NAME.get(row.metric.removeprefix(DRIVER_PREFIX))) is None:
        return None
    panel = metric.panel + (OF_DRIVER if row.metric.startswith(DRIVER_PREFIX) else "")
    return Source(panel, row.unit, metric.words, row.step_s, values, is_area=metric.drawing == "area")


def _is_zero(source: Source) -> bool:
    return not any(source.values)


def _spans(flags: Sequence[bool], step_s: float) -> Iterable[tuple[float, float]]:
    """Yield from where to where flags are set, in seconds."""
    place = 0
    for is_set, group in groupby(flags):
        length = len(list(group))
        if is_set:
            yield place * step_s, (place + length) * step_s
        place += length
