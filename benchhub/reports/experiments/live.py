"""An experiment under way, for whoever looks on: its running levels as points that grow, and the time left."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Sum
from django.utils import timezone

from benchhub.bench.models import EndedTally, Experiment, ExperimentSystem, Run, RunTally
from benchhub.bench.models.states import State
from benchhub.bench.queue.progress import expected_end, seconds_left, tallies
from benchhub.bench.run_page.live import rates_of, slot, unit_of
from benchhub.ui.feeds import version_of

from . import queries

ROUNDED_S = 5
UNDER_WAY = (State.STARTING, State.RUNNING)


def feed(experiment: int) -> dict[str, Any]:
    """Return a point for each run under load: its level, and the mean of its throughput so far; and the time left."""
    rows = Run.objects.filter(experiment=experiment).active().select_related("experiment__workload", "watch")
    active = list(rows.defer("spec").order_by("position"))
    loaded = [run for run in active if run.state in UNDER_WAY and run.kind == Run.Kind.MEASURE and not run.rate_tps]
    return {"end_epoch_s": end_epoch_s(active), "points": _points(loaded)}


def _points(loaded: Sequence[Run]) -> list[dict[str, Any]]:
    rates = rates_of(loaded)
    if not rates:
        return []
    experiment = loaded[0].experiment
    numbers = {digest: number for number, digest in enumerate(queries.protocols(experiment), start=1)}
    places = {pk: place for place, pk in enumerate(_systems(experiment.pk))}
    return [
        {
            "run": run.pk,
            "figure": numbers[run.protocol_id],
            "series": places[run.system_id],
            "clients": run.clients,
            "value": float(f"{statistics.fmean(values):.5g}"),
            "seconds": len(values),
            "unit": unit_of(run),
        }
        for run in loaded
        if (values := rates.get(run.pk))
    ]


def end_epoch_s(active: Sequence[Run]) -> int | None:
    """Return when all runs are expected to have ended, by those under way; None where nobody can tell.

    It is a moment, and rounded, so that it stays the same as long as all goes as expected. It passes where a run takes
    longer than expected, by more than what waits.
    """
    if not active or any(run.is_out_of_sight for run in active):
        return None
    experiment = active[0].experiment
    now, extras = timezone.now(), Run.objects.extras_s([experiment.pk])
    started = [run for run in active if run.started_at]
    last_end = max((expected_end(run, now, extras) or now for run in started), default=now)
    others = tallies(RunTally.objects.filter(experiment=experiment).exclude(pk__in=[-run.pk for run in started]))
    end_s = last_end.timestamp() + seconds_left(others, experiment.rest_s)
    return ROUNDED_S * round(end_s / ROUNDED_S)


def version(experiment: int) -> str:
    """Return what changes with the page of an experiment; what has ended was counted where it did, however much it is.

    None of the queries reads what the runs went through.
    """
    rows = Experiment.objects.filter(pk=experiment).values_list(
        "name", "paused_at", "priority", "growth__steps", "growth__stopped"
    )
    runs = Run.objects.filter(experiment=experiment).order_by()
    tallied = EndedTally.objects.filter(experiment=experiment).order_by().values_list("state")
    # What they took tells a run that has ended anew from one that had ended so before.
    ended = [row for row in tallied.annotate(Sum("runs"), Sum("taken")) if row[1]]
    unfinished = (
        runs.unfinished().values_list("state").annotate(Count("pk"), Count("cancel_asked_at"), Max("started_at"))
    )
    aside = runs.filter(set_aside_at__isnull=False).aggregate(Count("pk"), Max("set_aside_at"))
    # Those under way, and those that were given back.
    moved = runs.unfinished().exclude(state=State.QUEUED, reason="").order_by("pk")
    moved_rows = list(moved.values_list("pk", "state", "reason", "watch__contact_error"))
    counts = [sorted(states, key=itemgetter(0)) for states in (ended, unfinished)]
    return version_of(list(rows), counts, sorted(aside.items()), moved_rows, slot())


def _systems(experiment: int) -> list[int]:
    """Return the systems that have a run, in the order of the plan: a system's place is its colour."""
    has_run = Exists(Run.objects.filter(experiment=experiment, system=OuterRef("system")))
    return list(ExperimentSystem.objects.filter(has_run, experiment=experiment).values_list("system", flat=True))
