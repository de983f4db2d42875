"""An experiment under way, for whoever looks on: its running levels as points that grow, and the time left."""

from __future__ import annotations

import statistics
from typing import Any

from django.db.models import Count, Max, Q
from django.utils import timezone

from benchhub.bench.models import Event, Experiment, ExperimentSystem, Run
from benchhub.bench.models.states import State
from benchhub.bench.queue.progress import expected_end, seconds_left
from benchhub.bench.run_page.live import rates_of, slot, unit_of
from benchhub.ui.feeds import version_of

ROUNDED_S = 5
UNDER_WAY = (State.STARTING, State.RUNNING)


def feed(experiment: int) -> dict[str, Any]:
    """Return a point for each run under load: its level, and the mean of its throughput so far; and the time left."""
    rows = Run.objects.filter(experiment=experiment).select_related("experiment__workload", "watch")
    runs = list(rows.defer("spec").order_by("position"))
    numbers = {digest: number for number, digest in enumerate(_protocols(runs), start=1)}
    places = {pk: place for place, pk in enumerate(_systems(experiment, {run.system_id for run in runs}))}
    loaded = [run for run in runs if run.state in UNDER_WAY and run.kind == Run.Kind.MEASURE and not run.rate_tps]
    rates = rates_of(loaded)
    return {
        "end_epoch_s": end_epoch_s(runs),
        "points": [
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
        ],
    }


def end_epoch_s(runs: list[Run]) -> int | None:
    """Return when all runs are expected to have ended; None where nobody can tell.

    It is a moment, and rounded, so that it stays the same as long as all goes as expected. It passes where a run takes
    longer than expected, by more than what waits.
    """
    active = [run for run in runs if run.is_active]
    if not active or any(run.is_out_of_sight for run in active):
        return None
    now, extras = timezone.now(), Run.objects.extras_s([active[0].experiment_id])
    started = [run for run in active if run.started_at]
    last_end = max((expected_end(run, now, extras) or now for run in started), default=now)
    end_s = last_end.timestamp() + seconds_left([run for run in runs if run not in started])
    return ROUNDED_S * round(end_s / ROUNDED_S)


def version(experiment: int) -> str:
    """Return what changes with the page of an experiment, in three queries whatever its size."""
    rows = Experiment.objects.filter(pk=experiment).values_list(
        "name", "paused_at", "priority", "growth__steps", "growth__stopped"
    )
    counts = Run.objects.filter(experiment=experiment).aggregate(
        Count("pk"), Count("cancel_asked_at"), Count("set_aside_at"), Max("set_aside_at"),
        silent=Count("watch", filter=~Q(watch__contact_error="")),
    )  # fmt: skip
    newest = Event.objects.filter(run__experiment=experiment).aggregate(Max("pk"))
    return version_of(list(rows), counts, newest, slot())


def _protocols(runs: list[Run]) -> dict[str, None]:
    """Return the protocols in the order in which their curves are drawn (curves.groups)."""
    return dict.fromkeys(run.protocol_id for run in runs if run.kind == Run.Kind.MEASURE and not run.rate_tps)


def _systems(experiment: int, systems: set[int]) -> list[int]:
    """Return the systems that have a run, in the order of the plan: a system's place is its colour."""
    keys = ExperimentSystem.objects.filter(experiment=experiment).values_list("system", flat=True)
    return [key for key in keys if key in systems]
