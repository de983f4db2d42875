"""Queries of the pages of experiments; their number does not grow with the data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.postgres.aggregates import StringAgg
from django.db.models import (
    BooleanField,
    Exists,
    ExpressionWrapper,
    F,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    TextField,
)
from django.db.models.functions import Coalesce

from benchhub.bench.models import Experiment, ExperimentSystem, Growth, Protocol, Run, RunTally, System
from benchhub.bench.models.states import FINAL, State
from benchhub.reports.curves import runs as runs_of_curves
from benchhub.reports.curves.runs import CurveRun

GROWS_ON = ~Q(grows=Experiment.Grows.NOT) & (Q(growth=None) | Q(growth__stopped=Growth.Stopped.NOT))
HAS_RUNS_LEFT = Exists(Run.objects.unfinished().filter(experiment=OuterRef("pk")))
HAS_BEGUN = Exists(Run.objects.filter(experiment=OuterRef("pk")).exclude(state=State.QUEUED))
HAS_FAILED = Exists(Run.objects.filter(experiment=OuterRef("pk"), state__in=[State.FAILED, State.LOST]))
IS_OVER = Q(~HAS_RUNS_LEFT, grows_on=False)
GOES_ON = Q(HAS_RUNS_LEFT) | Q(grows_on=True)
MEASURING = Q(kind=Run.Kind.MEASURE)
MOST_SOURCES = 3


def experiments() -> QuerySet[Experiment]:
    """Return experiments with labels of systems and counts of runs: all, ended, bad, cancelled, waiting.

    `measure_count` counts the runs that measure, `done_count` those of them that ended by themselves. `grows_on`
    tells whether more runs may be planned, also where none is left at this moment. Callers narrow the rows.
    """
    return Experiment.objects.select_related("workload").annotate(
        system_labels=_system_labels(),
        run_count=_run_count(Q()),
        ended_count=_run_count(Q(state__in=FINAL)),
        bad_count=_run_count(Q(state__in=[State.FAILED, State.LOST])),
        cancelled_count=_run_count(Q(state=State.CANCELLED)),
        measure_count=_run_count(MEASURING),
        done_count=_run_count(MEASURING & Q(state__in=FINAL) & ~Q(state=State.CANCELLED)),
        waiting_count=_run_count(Q(state=State.QUEUED)),
        grows_on=ExpressionWrapper(GROWS_ON, BooleanField()),
    )


def _run_count(condition: Q) -> Coalesce:
    return RunTally.objects.filter(condition, experiment=OuterRef("pk")).number()


def _system_labels() -> Subquery:
    rows = ExperimentSystem.objects.filter(experiment=OuterRef("pk")).order_by().values("experiment")
    labels = StringAgg("system__label", delimiter="; ", order_by="position")
    return Subquery(rows.annotate(labels=labels).values("labels"), output_field=TextField())


def has_system(text: str) -> Q:
    """Return the condition that a system of the experiment has this text in its label."""
    return Q(pk__in=ExperimentSystem.objects.filter(system__label__icontains=text).order_by().values("experiment"))


def runs_left() -> bool:
    return Run.objects.unfinished().exists()


def experiment(pk: int) -> QuerySet[Experiment]:
    """Return the experiment with all that its page says of it, and the keys of its hosts."""
    rows = Experiment.objects.with_host_keys().filter(pk=pk).select_related("workload", "client_build", "design")
    return rows.annotate(has_runs_left=HAS_RUNS_LEFT, tuning_key=F("tuning_series"))


def systems(experiment: Experiment) -> list[System]:
    """Return the systems in the order of the plan, without those that its conditions leave without a run."""
    rows = ExperimentSystem.objects.filter(experiment=experiment).select_related(
        "system__hardware",
        "system__pooler_hardware",
        "system__build",
        "system__configuration",
        "system__instance__host",
        "system__driver",
    )
    if experiment.kept_only or experiment.left_out:
        rows = rows.filter(Exists(Run.objects.filter(experiment=experiment, system=OuterRef("system"))))
    return [row.system for row in rows]


def provenance(experiment: Experiment) -> list[str]:
    """Return who imported runs of the experiment and from where, each once and no more than MOST_SOURCES."""
    rows = experiment.runs.exclude(delivery=None).order_by("delivery__by__username", "source")
    pairs = rows.values_list("delivery__by__username", "source").distinct()[: MOST_SOURCES + 1]
    texts = [f"{username} from {source}" for username, source in pairs]
    return texts if len(texts) <= MOST_SOURCES else [*texts[:MOST_SOURCES], "others"]


def runs(experiment: Experiment) -> QuerySet[Run]:
    """Return all runs in the order of the plan, with system, result and watch; the table narrows them."""
    rows = experiment.runs.for_table().select_related("system__instance")
    return rows.defer("spec", "result__measures", "result__remarks")


def curve_runs(experiment: Experiment) -> list[CurveRun]:
    """Return the runs that its curves are made of, in the order of the plan: the newest of each level."""
    return runs_of_curves.read(Q(experiment=experiment))


def protocols(experiment: Experiment) -> list[str]:
    """Return the digests of the protocols that its curves are measured by, in the order of the plan."""
    measuring = Q(experiment=experiment, kind=Run.Kind.MEASURE, rate_tps=0)
    rows = RunTally.objects.filter(measuring).order_by().values_list("protocol").annotate(number=Sum("runs"))
    digests = [digest for digest, number in rows if number]
    if len(digests) < 2:
        return digests
    firsts = Run.objects.filter(measuring).order_by().values_list("protocol").annotate(first=Min("position"))
    return [digest for digest, _ in firsts.order_by("first")]


def is_out_of_sight(experiment: Experiment) -> bool:
    """Tell whether a run of it is under way on a host that is not reached."""
    return experiment.runs.active().filter(watch__unreachable_since__isnull=False).exists()


def protocol_forms(digests: Iterable[str]) -> list[dict[str, Any]]:
    """Return the canonical forms of protocols, to name what differs between them."""
    return list(Protocol.objects.filter(digest__in=list(digests)).values_list("form", flat=True))
