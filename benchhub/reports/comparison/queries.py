"""Queries of the comparison; their number does not grow with the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import BigIntegerField, BooleanField, Exists, Func, OuterRef, Q, QuerySet, Value

from benchhub.bench.models import ExperimentSystem, Found, Level, Protocol, Run, RunTally
from benchhub.reports.curves import runs as curve_runs
from benchhub.reports.curves.runs import CurveRun

Key = tuple[int, int]
SEARCH = (
    "experiment__name",
    "system__label",
    "experiment__workload__name",
    "system__instance__host__name",
    "system__configuration__name",
    "system__hardware__name",
)


def with_results() -> QuerySet[ExperimentSystem]:
    """Return each system of each experiment that has results, with its numbers of results and planned runs."""
    measuring = RunTally.objects.filter(
        experiment=OuterRef("experiment"), system=OuterRef("system"), kind=Run.Kind.MEASURE
    )
    return (
        ExperimentSystem.objects.select_related("experiment__workload", "system__instance__host")
        .defer("system__instance__host__private_key", "system__instance__host__facts")
        .filter(result_count__gt=0)
        .annotate(planned_count=measuring.number())
    )


def finished() -> QuerySet[ExperimentSystem]:
    """Return the curves of which no run is left."""
    runs = Run.objects.filter(experiment=OuterRef("experiment"), system=OuterRef("system"))
    return with_results().exclude(Exists(runs.unfinished()))


def of_experiment(pk: int) -> list[Key]:
    rows = ExperimentSystem.objects.filter(experiment=pk, result_count__gt=0).order_by("position")
    return list(rows.values_list("experiment", "system"))


def rows(keys: Sequence[Key]) -> list[ExperimentSystem]:
    """Return the systems of experiments by the given keys, in the order of the keys; unknown keys are left out."""
    rows = ExperimentSystem.objects.filter(_any(keys)).select_related(
        "experiment__workload",
        "system__hardware",
        "system__pooler_hardware",
        "system__build",
        "system__configuration",
        "system__driver",
        "system__instance__host",
        "system__instance__cluster",
    )
    by_key = {(row.experiment_id, row.system_id): row for row in rows}
    return [by_key[key] for key in keys if key in by_key]


def runs(keys: Sequence[Key]) -> list[CurveRun]:
    """Return the newest measuring runs of each level of the given curves, whatever their state."""
    return curve_runs.read(_any(keys) & Q(kind=Run.Kind.MEASURE))


def peaks(keys: Sequence[Key]) -> dict[Key, Level]:
    """Return the level with the highest geometric mean by key."""
    return Run.objects.peaks(_any(keys))


def protocol_forms(digests: Iterable[str]) -> dict[str, dict[str, Any]]:
    return dict(Protocol.objects.filter(digest__in=list(digests)).values_list("digest", "form"))


def found(runs: Iterable[int]) -> list[Found]:
    """Return the facts found around the given runs, of those that have any."""
    return list(Found.objects.filter(run__in=list(runs)).defer("deltas", "differences").order_by("run"))


def whole_runs(runs: Iterable[int]) -> dict[int, Run]:
    """Return the given runs by key, with everything that says how to repeat them."""
    related = ("system__build", "system__configuration", "result")
    return Run.objects.select_related(*related).in_bulk(list(runs))


def _any(keys: Sequence[Key]) -> Q:
    """Build the condition that a row has one of the given keys; without keys it matches nothing.

    Experiments are named apart as well: an index leads to their rows, of which the pairs then leave some out.
    """
    return Q(experiment__in={experiment for experiment, _ in keys}) & Q(_is_pair(keys))


def _is_pair(keys: Sequence[Key]) -> Func:
    """Build the condition on (experiment, system) as two values, however many pairs there are.

    With a condition for each of 25 pairs the database plans a statement for as long as it takes to read their runs. The
    system is one that no index finds: it has years of runs in other experiments.
    """
    columns = Func("experiment", "system", template="(%(expressions)s + 0)", output_field=BooleanField())
    experiments, systems = ([key[place] for key in keys] for place in (0, 1))
    values = (Value(side, output_field=ArrayField(BigIntegerField())) for side in (experiments, systems))
    pairs = Func(*values, template="(SELECT * FROM unnest(%(expressions)s))", output_field=BooleanField())
    return Func(columns, pairs, template="%(expressions)s", arg_joiner=" IN ", output_field=BooleanField())
