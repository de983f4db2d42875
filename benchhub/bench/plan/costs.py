"""What a plan costs: runs, hours and disk, each kind of work counted apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchhub.bench.models import Experiment, Run, System
from benchhub.bench.models.states import State
from benchhub.bench.queue.progress import STEPS_GUESS_S
from benchhub.catalog.models import Workload
from runners import tools

from . import plan

RECENT = 50
RESTART_GUESS_S = 5


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds are of all runs together; `load_s` is the measured load alone. `steps_s`: counters, collecting and so on.

    `disks` has for each instance the bytes of the largest data set that it is to hold.
    """

    runs: int
    load_s: int
    warmup_s: int
    loads: int
    loads_s: float
    warmup_runs: int
    warmup_runs_s: float
    restarts: int
    restarts_s: float
    settle_s: int
    rest_s: int
    steps_s: float
    disks: Mapping[str, int]

    @property
    def load_minutes(self) -> float:
        return self.load_s / 60

    @property
    def total_s(self) -> float:
        prepared_s = self.warmup_s + self.loads_s + self.warmup_runs_s + self.restarts_s + self.settle_s
        return self.load_s + prepared_s + self.rest_s + self.steps_s


def costs(parts: Sequence[Experiment], systems: Sequence[System], steps: Sequence[Sequence[plan.Step]]) -> Costs:
    """`steps` are those of each part."""
    counts = [Counter(step.kind for step in part_steps) for part_steps in steps]
    measuring = [count[Run.Kind.MEASURE] for count in counts]
    warming = [count[Run.Kind.WARMUP] for count in counts]
    loading = [count[Run.Kind.LOAD] for count in counts]
    each_s, load_s = _extra_s(systems), _load_s(parts, systems)
    restarts = sum(number for part, number in zip(parts, measuring, strict=True) if part.restart)
    return Costs(
        runs=sum(measuring),
        load_s=_sum(measuring, [part.duration_s for part in parts]),
        warmup_s=_sum(measuring, [part.warmup_s for part in parts]),
        loads=sum(loading),
        loads_s=_sum(loading, load_s),
        warmup_runs=sum(warming),
        warmup_runs_s=_sum(warming, [part.warmup_run_s + part.rest_s + each_s for part in parts]),
        restarts=restarts,
        restarts_s=restarts * RESTART_GUESS_S,
        settle_s=_sum(measuring, [part.settle_s for part in parts]),
        rest_s=_sum(measuring, [part.rest_s for part in parts]),
        steps_s=sum(measuring) * each_s,
        disks=_disks(parts, systems),
    )


def _sum(counts: Sequence[int], costs: Sequence[Any]) -> Any:
    return sum(count * cost for count, cost in zip(counts, costs, strict=True))


def _extra_s(systems: Sequence[System]) -> float:
    """What a run takes beside its load: vacuum, checkpoint, counters, collecting; by runs on these drivers before."""
    ended = _ended(Run.Kind.MEASURE).filter(system__driver__in={system.driver_id for system in systems})
    times = ended.values_list("started_at", "ended_at", "expected_s")[:RECENT]
    if not times:
        return STEPS_GUESS_S
    return max(0.0, fmean((end - start).total_seconds() - expected_s for start, end, expected_s in times))


def _load_s(parts: Sequence[Experiment], systems: Sequence[System]) -> list[float]:
    """Seconds that each part's data set takes to load, in proportion to those that its tool loaded before."""
    ended = _ended(Run.Kind.LOAD).filter(system__instance__in={system.instance_id for system in systems})
    return [_one_load_s(part.workload, ended) for part in parts]


def _one_load_s(workload: Workload, ended: Any) -> float:
    tool = tools.get(workload.tool)
    times = ended.filter(spec__tool=tool.name).values_list("started_at", "ended_at", "spec__parameters")[:RECENT]
    slower = [(end - start).total_seconds() / tool.load_guess_s(parameters) for start, end, parameters in times]
    return tool.load_guess_s(workload.parameters) * fmean(slower) if slower else plan.load_guess_s(workload)


def _ended(kind: str) -> Any:
    runs = Run.objects.filter(kind=kind, state=State.SUCCEEDED, started_at__isnull=False, ended_at__isnull=False)
    return runs.order_by("-pk")


def _disks(parts: Sequence[Experiment], systems: Sequence[System]) -> dict[str, int]:
    largest = max(data_set_bytes(part.workload) for part in parts)
    return {str(system.instance): largest for system in systems}


def data_set_bytes(workload: Workload) -> int:
    return tools.get(workload.tool).data_set_bytes(workload.parameters)
