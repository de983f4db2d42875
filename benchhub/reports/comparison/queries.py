"""What the comparison asks of the warehouse, in a number of queries that does not grow with the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Aggregate, Count, Exists, FloatField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from benchhub.bench.models import ExperimentSystem, Found, Protocol, Run
from benchhub.reports.curves.verdicts import with_counts

Key = tuple[int, int]
Peak = tuple[int, float, str]
SEARCH = (
    "experiment__name",
    "system__label",
    "experiment__workload__name",
    "system__instance__host__name",
    "system__configuration__name",
    "system__hardware__name",
)


class Median(Aggregate):
    function = "PERCENTILE_CONT"
    name = "Median"
    output_field = FloatField()
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"


def with_results() -> QuerySet[ExperimentSystem]:
    """Each system of each experiment that measured something, with the numbers of its results and planned runs."""
    own = Run.objects.filter(experiment=OuterRef("experiment"), system=OuterRef("system")).order_by()
    measuring = own.filter(kind=Run.Kind.MEASURE)
    return (
        ExperimentSystem.objects.select_related("experiment__workload", "system__instance__host")
        .filter(Exists(own.measured()))
        .annotate(result_count=_count(own.measured()), planned_count=_count(measuring))
    )


def finished() -> QuerySet[ExperimentSystem]:
    own = Run.objects.filter(experiment=OuterRef("experiment"), system=OuterRef("system"))
    return with_results().exclude(Exists(own.unfinished()))


def _count(runs: QuerySet[Run]) -> Coalesce:
    return Coalesce(Subquery(runs.values("experiment").annotate(count=Count("pk")).values("count")), 0)


def of_experiment(pk: int) -> list[Key]:
    rows = with_results().filter(experiment=pk).order_by("position")
    return [(row.experiment_id, row.system_id) for row in rows]


def rows(keys: Sequence[Key]) -> list[ExperimentSystem]:
    """Return the systems of experiments that these keys name, in their order; keys that name none are left out."""
    rows = ExperimentSystem.objects.filter(_any(keys)).select_related(
        "experiment__workload", "system__hardware", "system__build", "system__configuration", "system__instance__host"
    )
    by_key = {(row.experiment_id, row.system_id): row for row in rows}
    return [by_key[key] for key in keys if key in by_key]


def runs(keys: Sequence[Key]) -> list[Run]:
    """The measuring runs of these curves, whatever became of them, each with the digest of the facts found."""
    rows = Run.objects.filter(_any(keys), kind=Run.Kind.MEASURE).select_related("system__instance", "result")
    without = ("spec", "system__description", "result__measures", "result__remarks")
    return list(with_counts(rows).defer(*without).order_by("experiment", "position"))


def peaks(keys: Sequence[Key]) -> dict[Key, Peak]:
    """Key -> (clients, highest median of a level, its unit)."""
    levels = (
        Run.objects.measured()
        .filter(_any(keys))
        .values_list("experiment_id", "system_id", "clients", "result__unit")
        .annotate(median=Median("result__throughput"))
        .order_by("median")
    )
    return {(experiment, system): (clients, median, unit) for experiment, system, clients, unit, median in levels}


def protocol_forms(digests: Iterable[str]) -> dict[str, dict[str, Any]]:
    return dict(Protocol.objects.filter(digest__in=list(digests)).values_list("digest", "form"))


def found(runs: Iterable[int]) -> list[Found]:
    """The facts found around these runs, of those that have any."""
    return list(Found.objects.filter(run__in=list(runs)).defer("deltas", "differences").order_by("run"))


def whole_runs(runs: Iterable[int]) -> dict[int, Run]:
    """These runs with all that says how to repeat them."""
    related = ("system__build", "system__configuration", "result")
    return Run.objects.select_related(*related).in_bulk(list(runs))


def _any(keys: Sequence[Key]) -> Q:
    """One of these; nothing for no keys."""
    return reduce(or_, (Q(experiment=experiment, system=system) for experiment, system in keys), Q(pk__in=[]))
