"""Queries of the leaderboard: which workloads and protocols there are, and the newest curve of each system."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from benchhub.bench.models import ExperimentSystem, Run
from benchhub.catalog.models import Workload
from benchhub.reports.comparison.queries import Key

MOST_EXPERIMENTS = 200  # of a workload, the newest: so far a leaderboard looks back


def workloads() -> QuerySet[Workload]:
    """Return the workloads of which there is a curve."""
    curves = ExperimentSystem.objects.filter(experiment__workload=OuterRef("pk"), result_count__gt=0)
    return Workload.objects.filter(Exists(curves)).order_by("name", "-revision")


def newest_curves(workload: Workload) -> Mapping[str, Sequence[Key]]:
    """Return the newest finished curve of each system by protocol, the protocol with the most systems first."""
    experiments = list(
        workload.experiment_set.order_by("-created_at", "-pk").values_list("pk", flat=True)[:MOST_EXPERIMENTS]
    )
    unfinished = set(Run.objects.unfinished().filter(experiment__in=experiments).values_list("experiment", "system"))
    place = {experiment: number for number, experiment in enumerate(experiments)}
    by_protocol: dict[str, dict[int, Key]] = defaultdict(dict)
    for experiment, system, protocol in sorted(_curves(experiments), key=lambda curve: place[curve[0]]):
        if protocol and (experiment, system) not in unfinished:
            by_protocol[protocol].setdefault(system, (experiment, system))
    ordered = sorted(by_protocol, key=lambda protocol: -len(by_protocol[protocol]))
    return {protocol: list(by_protocol[protocol].values()) for protocol in ordered}


def _curves(experiments: Sequence[int]) -> QuerySet[ExperimentSystem, tuple[int, int, str | None]]:
    """Return (experiment, system, protocol) of each curve, by any of its runs.

    A curve of several protocols is none, and is left out when it is built. The order is that of an index.
    """
    runs = Run.objects.filter(experiment=OuterRef("experiment"), system=OuterRef("system"), kind=Run.Kind.MEASURE)
    protocol = Subquery(runs.filter(rate_tps=0).order_by("clients", "repeat").values("protocol")[:1])
    rows = ExperimentSystem.objects.filter(experiment__in=experiments, result_count__gt=0).order_by("position")
    return rows.annotate(protocol=protocol).values_list("experiment", "system", "protocol")
