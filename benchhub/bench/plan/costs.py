"""The costs of a plan: runs, hours and disk, each kind of work counted apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from django.conf import settings

from benchhub.analysis.planning import copies, deadlines
from benchhub.analysis.planning.copies import Restoring, Times
from benchhub.bench.models import Experiment, Run, System
from benchhub.bench.models.states import State
from benchhub.bench.plan import specs
from benchhub.bench.queue.progress import STEPS_GUESS_S
from benchhub.catalog.instances.clusters.copies import RESTORED
from benchhub.catalog.models import DataCopy, Workload
from runners import tools

from . import plan

RECENT = 50
RESTART_GUESS_S = 5


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds are of all runs together; `load_s` is the measured load alone. `steps_s`: counters, collecting and so on.

    `disks` has for each instance the bytes of the largest data set that it is to hold; `restorings` how data come to
    clusters of BenchHub's own, where a copy may restore them. `deadline_s` and
    `load_deadline_s` are when a host ends the longest run, and the longest load, if it has not ended by itself.
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
    restorings: Sequence[Restoring]
    deadline_s: int
    load_deadline_s: int

    @property
    def load_minutes(self) -> float:
        return self.load_s / 60

    @property
    def total_s(self) -> float:
        prepared_s = self.warmup_s + self.loads_s + self.warmup_runs_s + self.restarts_s + self.settle_s
        return self.load_s + prepared_s + self.rest_s + self.steps_s


def costs(parts: Sequence[Experiment], systems: Sequence[System], steps: Sequence[Sequence[plan.Step]]) -> Costs:
    """Return what all parts cost together; `steps` has the steps of each part, in the order of the parts."""
    counts = [Counter(step.kind for step in part_steps) for part_steps in steps]
    run_counts = [count[Run.Kind.MEASURE] for count in counts]
    warmup_counts = [count[Run.Kind.WARMUP] for count in counts]
    load_counts = [count[Run.Kind.LOAD] for count in counts]
    extra_s, load_s = _extra_s(systems), _load_s(parts, systems)
    restorings = [row for planned in zip(parts, steps, load_s, strict=True) for row in _restorings(*planned)]
    restarts = sum(number for part, number in zip(parts, run_counts, strict=True) if part.restart)
    largest = max(data_set_bytes(part.workload) for part in parts)
    return Costs(
        runs=sum(run_counts),
        load_s=_sum(run_counts, [part.duration_s for part in parts]),
        warmup_s=_sum(run_counts, [part.warmup_s for part in parts]),
        loads=sum(load_counts),
        loads_s=_sum(load_counts, load_s) - sum(restoring.saved_s for restoring in restorings),
        warmup_runs=sum(warmup_counts),
        warmup_runs_s=_sum(warmup_counts, [part.warmup_run_s + part.rest_s + extra_s for part in parts]),
        restarts=restarts,
        restarts_s=restarts * RESTART_GUESS_S,
        settle_s=_sum(run_counts, [part.settle_s for part in parts]),
        rest_s=_sum(run_counts, [part.rest_s for part in parts]),
        steps_s=sum(run_counts) * extra_s,
        disks={str(system.instance): largest for system in systems},
        restorings=restorings,
        deadline_s=max(_deadline_s(part, longest_s(part)) for part in parts),
        load_deadline_s=max(_deadline_s(part, specs.load_guess_s(part.workload)) for part in parts),
    )


def _restorings(part: Experiment, steps: Sequence[plan.Step], load_s: float) -> list[Restoring]:
    """Return how data come to the clusters of BenchHub's own in the part, unless it is always by a load."""
    loads = [step.system for step in steps if step.kind == Run.Kind.LOAD and step.system.instance.own_cluster]
    if part.no_copies or not loads:
        return []
    counts = Counter((system.instance.cluster, specs.copy_key(part, system)) for system in loads)
    systems = {system.instance_id: system for system in loads}
    rows = {
        (row.cluster_id, row.key): row
        for row in DataCopy.objects.filter(cluster__instance__in=systems, key__in={key for _, key in counts})
    }
    return [
        _restoring(part, systems[cluster.instance_id], count, rows.get((cluster.pk, key)), load_s)
        for (cluster, key), count in counts.items()
    ]


def _restoring(part: Experiment, system: System, count: int, row: DataCopy | None, load_s: float) -> Restoring:
    data_bytes, free_bytes = data_set_bytes(part.workload), disk_of(system).get("free_bytes")
    return copies.restoring(
        count,
        row.times if row else Times(load_s, copies.guessed_s(data_bytes), is_measured=False),
        instance=str(system.instance),
        has_copy=row is not None and row.is_there,
        is_repeated=part.loading == Experiment.Loading.EACH,
        data_bytes=data_bytes,
        free_bytes=None if free_bytes is None else free_bytes - data_bytes,
    )


def disk_of(system: System) -> Mapping[str, Any]:
    """Return the file system of the data directory, as the last probe of its host found it; empty if not known."""
    folder, host = system.instance.data_directory, system.instance.host
    mounts = host.facts.get("filesystems", []) if host and folder else []
    parents = [mount for mount in mounts if f"{folder}/".startswith(f"{mount['folder'].rstrip('/')}/")]
    return max(parents, key=lambda mount: len(mount["folder"]), default={})


def longest_s(part: Experiment) -> int:
    """Return the seconds of its longest run, loads of data sets apart."""
    return max(part.duration_s + part.warmup_s + part.settle_s, part.warmup_run_s)


def _deadline_s(part: Experiment, expected_s: int) -> int:
    load_s = specs.load_guess_s(part.workload)
    return deadlines.deadline_s(expected_s, load_s, least_s=settings.LEAST_DEADLINE_SECONDS)


def _sum(counts: Sequence[int], costs: Sequence[Any]) -> Any:
    return sum(count * cost for count, cost in zip(counts, costs, strict=True))


def _extra_s(systems: Sequence[System]) -> float:
    """Estimate the seconds that a run takes beside its load (vacuum, checkpoint, counters, collecting).

    It is the mean of the latest runs on these drivers.
    """
    runs = _ended(Run.Kind.MEASURE).filter(system__driver__in={system.driver_id for system in systems})
    times = runs.values_list("started_at", "ended_at", "expected_s")[:RECENT]
    if not times:
        return STEPS_GUESS_S
    return max(0.0, fmean((end - start).total_seconds() - expected_s for start, end, expected_s in times))


def _load_s(parts: Sequence[Experiment], systems: Sequence[System]) -> list[float]:
    """Estimate the seconds that each part's data set takes to load, by those that its load generator loaded before."""
    runs = _ended(Run.Kind.LOAD).filter(system__instance__in={system.instance_id for system in systems})
    runs = runs.exclude(reason__startswith=RESTORED)
    return [_one_load_s(part.workload, runs) for part in parts]


def _one_load_s(workload: Workload, runs: Any) -> float:
    tool = tools.get(workload.tool)
    times = runs.filter(spec__tool=tool.name).values_list("started_at", "ended_at", "spec__parameters")[:RECENT]
    ratios = [(end - start).total_seconds() / tool.load_guess_s(parameters) for start, end, parameters in times]
    return tool.load_guess_s(workload.parameters) * fmean(ratios) if ratios else specs.load_guess_s(workload)


def _ended(kind: str) -> Any:
    runs = Run.objects.filter(kind=kind, state=State.SUCCEEDED, started_at__isnull=False, ended_at__isnull=False)
    return runs.order_by("-pk")


def data_set_bytes(workload: Workload) -> int:
    return tools.get(workload.tool).data_set_bytes(workload.parameters)
