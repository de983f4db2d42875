"""The resource that was full at each level of an experiment's curves, told with its evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from benchhub.analysis.curves.curve import Level
from benchhub.analysis.curves.saturation import CPU_PARTS, DISKS, WAIT_PREFIX, Saturation, saturation
from benchhub.bench.models import RunTelemetry
from benchhub.reports.curves.curves import SystemCurve

OBSERVED = Q(metric__in=[*CPU_PARTS, *DISKS]) | Q(metric__startswith=WAIT_PREFIX)


@dataclass(frozen=True, slots=True)
class Limit:
    """What was full at a level of a system, as its run nearest the level's mean observed it."""

    system_curve: SystemCurve
    clients: int
    run: int
    saturation: Saturation


def limits(curves: Sequence[SystemCurve]) -> list[Limit]:
    """Return a limit for each level, in one query; empty where nothing was observed at any."""
    pairs = [(curve, level, _typical(level)) for curve in curves for level in curve.curve.levels]
    observed = _observed(run for *_, run in pairs)
    if not observed:
        return []
    return [Limit(curve, level.clients, run, saturation(observed.get(run, {}))) for curve, level, run in pairs]


def _typical(level: Level) -> int:
    """Return the run whose throughput is nearest the level's mean."""
    return min(level.runs, key=lambda point: abs(point.throughput - level.throughput.mean)).run


def _observed(runs: Iterable[int]) -> Mapping[int, Mapping[str, list[float | None]]]:
    """Return the values of the metrics by run, without what is damaged."""
    metrics: dict[int, dict[str, list[float | None]]] = defaultdict(dict)
    for row in RunTelemetry.objects.filter(OBSERVED, run__in=list(runs)):
        try:
            metrics[row.run_id][row.metric] = row.values
        except ValueError:
            continue
    return metrics
