"""Results that were measured elsewhere, line by line: as they came, as they were read, and what is wrong with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from runners.contract import Outputs, RunResult, RunSpec


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a measurement, by names. `host` and `driver` are those of server and load generator."""

    host: str
    driver: str
    hardware: str
    configuration: str
    postgresql: str
    path: str
    label: str = ""


HIGHEST_RATE_TPS = 1_000_000_000
WHOLE_RATES = "BenchHub has whole rates only, from 1 TPS: a run at another rate cannot be imported."


@dataclass(frozen=True, slots=True)
class OpenLoop:
    """What all runs of a sweep of rates share beside the other conditions."""

    clients: int
    latency_limit_us: int


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions that curves must share, and the experiment that the results are to stand in.

    A duration of 0 is that which each run prints.
    """

    experiment: str
    workload: str
    client_version: str
    duration_s: int
    warmup_s: int = 0
    thread_rule: str = ""  # left out: as the output says, else one thread for each client
    vacuum: bool = False
    checkpoint: bool = False
    open_loop: OpenLoop | None = None  # as the output says


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """One result as it came: `output` as the load generator printed it, or `numbers` (throughput, unit, latencies).

    `clients` is None where the output alone says it. `text` is the whole of what came for it; `line` its number in the
    request. `log_sampling_rate` is of the log among the files of the output. `rate_tps` is what was offered, in an open
    loop; `rates_tps` instead, where the runs of an output were at unlike rates, that of each.
    """

    number: int
    place: Place
    conditions: Conditions
    source: str
    clients: int | None
    measured_at: datetime
    repeat: int | None = None
    output: Outputs | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    log_sampling_rate: float = 1.0
    rate_tps: int | None = None
    rates_tps: tuple[int, ...] = ()

    @property
    def ended_at(self) -> datetime:
        return self.measured_at + timedelta(seconds=self.conditions.duration_s)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a line, at a JSON pointer."""

    line: int
    pointer: str
    detail: str


class RejectedError(Exception):
    """The results have faults, and nothing was stored. Lines behind the last one were not looked at, unless whole."""

    def __init__(self, faults: Sequence[Fault], *, is_whole: bool = True) -> None:
        super().__init__(f"{len(faults)} faults")
        self.faults, self.is_whole = tuple(faults), is_whole


@dataclass(frozen=True, slots=True)
class Reading:
    """A result that can be stored: what it came as, its frozen plan, and what its parser made of it."""

    line: ImportedRun
    spec: RunSpec
    result: RunResult
    plan: Mapping[str, Any]  # the spec as the warehouse keeps it


def by_conditions(readings: Sequence[Reading]) -> dict[Conditions, list[Reading]]:
    groups: dict[Conditions, list[Reading]] = defaultdict(list)
    for reading in readings:
        groups[reading.line.conditions].append(reading)
    return groups
