"""Queries of the leaderboard: which workloads and protocols there are, and the newest curve of each system."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from benchhub.bench.models import ExperimentSystem, Run
from benchhub.catalog.models import Workload
from benchhub.reports.comparison.queries import Key

MOST_EXPERIMENTS, MOST_CURVES = 200, 300  # of a workload, the newest: so far a leaderboard looks back


def workloads() -> QuerySet[Workload]:
    """Return the workloads of which there is a curve."""
    curves = ExperimentSystem.objects.filter(experiment__workload=OuterRef("pk"), result_count__gt=0)
    return Workload.objects.filter(Exists(curves)).order_by("name", "-revision")


def newest_curves(workload: Workload) -> Mapping[str, Sequence[Key]]:
    """Return the newest finished curve of each system by protocol, the protocol with the most systems first."""
    by_protocol: dict[str, dict[int, Key]] = defaultdict(dict)
    for experiment, system, protocol in _curves(workload):
        by_protocol[protocol].setdefault(system, (experiment, system))
    ordered = sorted(by_protocol, key=lambda protocol: -len(by_protocol[protocol]))
    return {protocol: list(by_protocol[protocol].values()) for protocol in ordered}


def _curves(workload: Workload) -> QuerySet[ExperimentSystem, tuple[int, int, str]]:
    runs = Run.objects.filter(experiment=OuterRef("experiment"), system=OuterRef("system"))
    # Any run tells: a curve of several protocols is none, and is left out when it is built.
    protocol = Subquery(runs.filter(kind=Run.Kind.MEASURE, rate_tps=0).values("protocol")[:1])
    newest = workload.experiment_set.order_by("-created_at", "-pk").values("pk")[:MOST_EXPERIMENTS]
    rows = ExperimentSystem.objects.filter(~Exists(runs.unfinished()), experiment__in=newest, result_count__gt=0)
    rows = rows.annotate(protocol=protocol).order_by("-experiment__created_at", "-experiment", "position")
    return rows.filter(protocol__isnull=False).values_list("experiment", "system", "protocol")[:MOST_CURVES]
