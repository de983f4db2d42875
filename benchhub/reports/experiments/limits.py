"""The resource that was full at each level of an experiment's curves, told with its evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import F, Q

from benchhub.analysis.curves.curve import Level
from benchhub.analysis.curves.saturation import CPU_PARTS, DISKS, WAIT_PREFIX, Saturation, saturation
from benchhub.bench.models import RunTelemetry
from benchhub.reports.curves.curves import SystemCurve

OBSERVED = Q(metric__in=[*CPU_PARTS, *DISKS]) | Q(metric__startswith=WAIT_PREFIX)


@dataclass(slots=True)
class Observed:
    """The values of the metrics of a run, and on which machine sysstat noted them, if BenchHub did not."""

    metrics: dict[str, list[float | None]] = field(default_factory=dict)
    sysstat_host: str | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """What was full at a level of a system, as its run nearest the level's mean was observed: by BenchHub, or by
    sysstat on a machine that is named so.
    """

    system_curve: SystemCurve
    clients: int
    run: int
    saturation: Saturation
    sysstat_host: str | None = None


def limits(curves: Sequence[SystemCurve]) -> list[Limit]:
    """Return a limit for each level, in one query; empty where nothing was observed at any."""
    pairs = [(curve, level, _typical(level)) for curve in curves for level in curve.curve.levels]
    observed = _observed(run for *_, run in pairs)
    if not observed:
        return []
    nothing = Observed()
    return [_limit(curve, level, run, observed.get(run, nothing)) for curve, level, run in pairs]


def _limit(curve: SystemCurve, level: Level, run: int, observed: Observed) -> Limit:
    return Limit(curve, level.clients, run, saturation(observed.metrics), observed.sysstat_host)


def _typical(level: Level) -> int:
    """Return the run whose throughput is nearest the level's mean."""
    return min(level.runs, key=lambda point: abs(point.throughput - level.throughput.mean)).run


def _observed(runs: Iterable[int]) -> Mapping[int, Observed]:
    """Return the metrics by run, without what is damaged."""
    observed: dict[int, Observed] = defaultdict(Observed)
    rows = RunTelemetry.objects.filter(OBSERVED, run__in=list(runs))
    for row in rows.annotate(sysstat_host=F("run__telemetry_import__host")):
        try:
            observed[row.run_id].metrics[row.metric] = row.values
        except ValueError:
            continue
        observed[row.run_id].sysstat_host = row.sysstat_host
    return observed
