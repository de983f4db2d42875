"""Loads that nobody planned: a run whose server has another data set by now waits behind a load of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from django.db import transaction
from django.db.models import F, Max

from benchhub.bench.models import Experiment, Protocol, Run, RunQuerySet
from benchhub.bench.plan import plan, specs
from benchhub.bench.queue import gates, queue

FAR = 1_000_000_000  # positions are unique at every moment, so that they move by way of places that nothing has
MOST_RETURNS = 2  # after which a person is asked: loads do not help
MISSING = "Its server had another data set, or none: it waits until its own is loaded."
GONE_AGAIN = (
    f"{{}} had another data set, or none, at {MOST_RETURNS + 1} starts of a run, though its own was loaded in between:"
    " something else writes to that database. See that it ends, then resume."
)


def load_anew(drivers: Sequence[int]) -> int:
    """Put a load before each run of these drivers that waits for nothing else; returns how many runs were planned."""
    runs = Run.objects.filter(pk__in=gates.keys_without_data(drivers)).select_related("experiment", "system__instance")
    return sum(queue.or_pause(run.experiment, partial(_put_before, run), "load its data set anew") for run in runs)


def _put_before(run: Run, _experiment: Experiment) -> int:
    return put_before(run)


@transaction.atomic
def put_before(run: Run) -> int:
    """Put what prepares the run's system before it, unless a load before it waits already; returns how many runs."""
    # Its key does not change: whoever has a run of it locked, and refers to it, need not wait for this.
    experiment = Experiment.objects.select_for_update(no_key=True).get(pk=run.experiment_id)
    # Read again under the lock: another load may have moved it since, or another worker started it.
    queued_run = Run.objects.queued().filter(pk=run.pk).select_related("system__instance").first()
    if queued_run is None or _has_load_before(queued_run):
        return 0
    steps = [step._replace(is_canary=run.is_canary) for step in _preparation(experiment, queued_run)]
    _make_room(experiment, queued_run.position, len(steps))
    protocol = Protocol.stored(specs.protocol_form(experiment, queued_run.system))
    rows = enumerate(steps, start=queued_run.position)
    return len(plan.save_runs([plan.run_of(experiment, step, protocol, position) for position, step in rows]))


def _has_load_before(run: Run) -> bool:
    loads = Run.objects.unfinished().filter(kind=Run.Kind.LOAD, experiment=run.experiment_id)
    return loads.filter(system__instance=run.system.instance_id, position__lt=run.position).exists()


def _preparation(experiment: Experiment, run: Run) -> list[plan.Step]:
    """Return one more load of the run's system, and the warm-up that the plan has after it unless the run is one."""
    loads = experiment.runs.filter(kind=Run.Kind.LOAD, clients=0, system=run.system)
    load = plan.Step(run.system, repeat=_next_repeat(loads) if loads.exists() else 0, kind=Run.Kind.LOAD)
    if not experiment.warmup_run_s or run.kind == Run.Kind.WARMUP:
        return [load]
    warmups = experiment.runs.filter(kind=Run.Kind.WARMUP, system=run.system)
    return [load, plan.Step(run.system, experiment.warmup_run_clients, _next_repeat(warmups), Run.Kind.WARMUP)]


def _next_repeat(runs: RunQuerySet) -> int:
    return int(runs.aggregate(last=Max("repeat"))["last"] or 0) + 1


def _make_room(experiment: Experiment, position: int, count: int) -> None:
    later_runs = experiment.runs.filter(position__gte=position)
    later_runs.update(position=F("position") + FAR)
    experiment.runs.filter(position__gte=FAR).update(position=F("position") - FAR + count)
