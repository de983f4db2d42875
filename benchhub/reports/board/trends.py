"""Trends: the peaks of a system that was measured several times under one protocol, the oldest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, Q, Sum
from django.urls import reverse

from benchhub.bench.models import Experiment, ExperimentSystem, Level, Run, RunTally, System, levels

from .cached import slot
from .sparkline import Sparkline, sparkline

MOST_TRENDS, MOST_POINTS = 6, 12
MOST_EXPERIMENTS, MOST_CURVES = 100, 60  # so far a trend looks back
Curves = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """A system under one protocol: its workload, its peaks as a line, and the newest against the one before."""

    system: str
    workload: str
    times: int
    level: Level
    change_percent: float
    sparkline: Sparkline | None
    address: str

    @property
    def change_text(self) -> str:
        return f"{self.change_percent:+.1f}%".replace("-", "−")


def trends(now: datetime) -> Sequence[Trend]:
    """Return the trends of the systems that were measured last, of the newest curves that are whole."""
    has_runs_left = Exists(Run.objects.unfinished().filter(experiment=OuterRef("experiment")))
    newest = Experiment.objects.order_by("-created_at", "-pk").values_list("pk", flat=True)[:MOST_EXPERIMENTS]
    # As keys: with a subquery the database goes through all experiments to join them.
    rows = ExperimentSystem.objects.filter(~has_runs_left, result_count__gt=0, experiment__in=list(newest))
    rows = rows.order_by("-experiment__created_at", "-experiment", "pk")
    return _trends(tuple(rows.values_list("experiment", "system", "result_count")[:MOST_CURVES]), slot(now))


@lru_cache(maxsize=8)
def _trends(curves: Curves, _slot: int) -> Sequence[Trend]:
    series = {key: levels for key, levels in _series(curves).items() if len(levels) > 1}
    newest = sorted(series, key=lambda key: -series[key][-1].experiment)[:MOST_TRENDS]
    systems = System.objects.in_bulk([system for system, _ in newest])
    rows = ExperimentSystem.objects.filter(experiment__in={series[key][-1].experiment for key in newest})
    workloads = dict(rows.values_list("experiment", "experiment__workload__name"))
    return tuple(_trend(systems[key[0]], series[key], workloads) for key in newest)


def _series(curves: Curves) -> dict[tuple[int, str], list[Level]]:
    """Return the peaks by (system, protocol), the oldest first."""
    experiments = {experiment for experiment, *_ in curves}
    measured = RunTally.objects.filter(levels.TALLIED_WELL, experiment__in=experiments).order_by()
    rows = measured.values_list("experiment", "system", "protocol").annotate(number=Sum("runs"))
    protocols = {(experiment, system): protocol for experiment, system, protocol, number in rows if number}
    series: dict[tuple[int, str], list[Level]] = defaultdict(list)
    for (experiment, system), level in sorted(Run.objects.peaks(Q(experiment__in=experiments)).items()):
        series[system, protocols[experiment, system]].append(level)
    return series


def _trend(system: System, levels: Sequence[Level], workloads: dict[int, str]) -> Trend:
    before, newest = levels[-2:]
    curves = [f"{level.experiment}-{level.system}" for level in (before, newest)]
    return Trend(
        system=system.label,
        workload=workloads.get(newest.experiment, ""),
        times=len(levels),
        level=newest,
        change_percent=100 * (newest.throughput / before.throughput - 1),
        sparkline=sparkline(list(_values(levels)), newest.unit),
        address=f"{reverse('compare')}?{urlencode({'curve': curves}, doseq=True)}",
    )


def _values(levels: Sequence[Level]) -> Iterator[float]:
    return (level.throughput for level in levels[-MOST_POINTS:])
