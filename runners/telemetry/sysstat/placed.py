"""Samples of sysstat on the seconds of a load: those that lie within it, each where its own seconds are."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean

from runners.telemetry import series
from runners.telemetry.collector import step_s
from runners.telemetry.metrics import BY_NAME

from .answer import NO_SAMPLE, Machine, Sample, UnfitError, read
from .metrics import MAPPED, Mapped, metric_value

NO_METRIC = "Its samples of that time have nothing that a timeline shows: convert the file with all that it has, by -A."
NEAR_S = 1  # its times are whole seconds
ELSEWHEN = (
    "Its samples are of {} to {} UTC, and the load of the run was from {} to {} UTC: choose the file of that time."
    " If both should be the same time, the clock of that machine was wrong."
)
TOO_COARSE = (
    "A sample of it covers {:,} s, and none lies within the load of {:,} s: such samples say nothing of this run alone."
    " Let sadc note every second beside the next one: sadc -S ALL 1 FILE"
)


@dataclass(frozen=True, slots=True)
class Load:
    """When the load of a run began, by the clock of UTC, and how long it was."""

    begin_epoch_s: float
    duration_s: int

    @property
    def end_epoch_s(self) -> float:
        return self.begin_epoch_s + self.duration_s


@dataclass(frozen=True, slots=True)
class Placed:
    """What sysstat says of a load, with the span of the whole file and how many of its samples lie outside the load."""

    machine: Machine
    telemetry: series.Telemetry
    sample_count: int
    outside_count: int
    interval_s: int
    first_epoch_s: int
    last_epoch_s: int


def place(content: bytes, load: Load) -> Placed:
    """Return the samples of sadf's JSON over a load, as metrics.

    Raises UnfitError where the content is no such JSON, or has nothing of that load.
    """
    machine, samples = read(content)
    sorted_out = _Samples(load)
    for sample in samples:
        sorted_out.take(sample)
    within = sorted_out.required()
    interval_s = Counter(sample.interval_s for sample in within).most_common(1)[0][0]
    return Placed(
        machine=machine,
        telemetry=_telemetry(within, load, max(interval_s, step_s(load.duration_s))),
        sample_count=sorted_out.count,
        outside_count=sorted_out.outside_count,
        interval_s=interval_s,
        first_epoch_s=sorted_out.first_epoch_s,
        last_epoch_s=sorted_out.last_epoch_s,
    )


@dataclass(slots=True)
class _Samples:
    """The samples that lie within a load, by their ends, and the span of all.

    A file may have samples twice, or in any order: the first one at a time counts.
    """

    load: Load
    by_end: dict[int, Sample] = field(default_factory=dict)
    count: int = 0
    outside_count: int = 0
    first_epoch_s: int = 2**62
    last_epoch_s: int = 0
    longest_s: int = 0

    def take(self, sample: Sample) -> None:
        """Note a sample; one within the load that has no number is none. The numbers of no other are looked at."""
        is_within = _is_within(sample, self.load)
        is_new = is_within and sample.end_epoch_s not in self.by_end
        if is_new and not sample.values:
            return
        self.count += 1
        self.first_epoch_s = min(self.first_epoch_s, sample.begin_epoch_s)
        self.last_epoch_s = max(self.last_epoch_s, sample.end_epoch_s)
        self.longest_s = max(self.longest_s, sample.interval_s)
        if is_new:
            self.by_end[sample.end_epoch_s] = sample
        self.outside_count += not is_within

    def required(self) -> list[Sample]:
        """Return those within the load by time. Raises UnfitError where there is none, or where none has a metric."""
        within = [self.by_end[end_epoch_s] for end_epoch_s in sorted(self.by_end)]
        if not within:
            raise UnfitError(self._why_none() if self.count else NO_SAMPLE)
        if not any(metric_value(mapped, sample.values) is not None for sample in within for mapped in MAPPED):
            raise UnfitError(NO_METRIC)
        return within

    def _why_none(self) -> str:
        load = self.load
        if self.first_epoch_s < load.end_epoch_s and load.begin_epoch_s < self.last_epoch_s:
            return TOO_COARSE.format(self.longest_s, load.duration_s)
        spans = self.first_epoch_s, self.last_epoch_s, load.begin_epoch_s, load.end_epoch_s
        return ELSEWHEN.format(*map(clock, spans))


def _is_within(sample: Sample, load: Load) -> bool:
    begin, end = load.begin_epoch_s - NEAR_S, load.end_epoch_s + NEAR_S
    return begin <= sample.begin_epoch_s and sample.end_epoch_s <= end


def clock(epoch_s: float) -> str:
    """Return a time in UTC, to the second."""
    return f"{datetime.fromtimestamp(epoch_s, UTC):%Y-%m-%d %H:%M:%S}"


def _telemetry(samples: Sequence[Sample], load: Load, step: int) -> series.Telemetry:
    cells = list(_cells(samples, load, step))
    observations = (
        series.Observation(mapped.metric, BY_NAME[mapped.metric].unit, _values(mapped, cells)) for mapped in MAPPED
    )
    return series.Telemetry(
        start_epoch_s=load.begin_epoch_s,
        step_s=step,
        observations=tuple(item for item in observations if any(value is not None for value in item.values)),
    )


def _values(mapped: Mapped, cells: Sequence[Sequence[Sample]]) -> tuple[float | None, ...]:
    return tuple(_mean(mapped, cell) for cell in cells)


def _mean(mapped: Mapped, cell: Sequence[Sample]) -> float | None:
    values = [value for sample in cell if (value := metric_value(mapped, sample.values)) is not None]
    return fmean(values) if values else None


def _cells(samples: Sequence[Sample], load: Load, step: int) -> Iterator[Sequence[Sample]]:
    """Yield for each step of the load the samples whose middle lies in it, else the one that has the step's middle.

    There are several where the steps of a long load are longer than its samples. `samples` are in the order of time.
    """
    by_step: dict[int, list[Sample]] = defaultdict(list)
    for sample in samples:
        middle = sample.end_epoch_s - sample.interval_s / 2
        by_step[math.floor((middle - load.begin_epoch_s) / step)].append(sample)
    for step_number in range(max(1, math.floor(load.duration_s / step + 0.1))):
        yield by_step.get(step_number) or _around(samples, load.begin_epoch_s + step * (step_number + 0.5))


def _around(samples: Sequence[Sample], moment_epoch_s: float) -> Sequence[Sample]:
    place = bisect_left(samples, moment_epoch_s, key=lambda sample: sample.end_epoch_s)
    return [sample for sample in samples[place : place + 1] if sample.begin_epoch_s <= moment_epoch_s]
