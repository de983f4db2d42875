"""Plans that grow: after the runs of a step have ended, the next step is planned from the stored results alone.

Any number of workers may try at once: the experiment's row is locked, and what is planned already is unfinished, so
that nothing is due any more. What a step needs is computed anew each time, so nothing is lost when a worker dies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from benchhub.analysis.curves import decide
from benchhub.bench.models import Experiment, Growth, Protocol, Run, System
from benchhub.bench.models.states import State
from benchhub.bench.plan import specs
from benchhub.bench.queue import queue

from . import plan

# Failed so often without a result, a level is not tried again.
REFUSED_AFTER = 2
UNFINISHED = Run.objects.filter(experiment=OuterRef("pk")).unfinished()
PREPARATION = Run.objects.filter(experiment=OuterRef("pk")).exclude(kind=Run.Kind.MEASURE)

Findings = dict[str, Any]


def grow() -> int:
    """Plan the next step of every experiment that waits for one and is not paused; returns how many runs it planned."""
    waiting = due().filter(paused_at=None).order_by("pk")
    return sum(queue.or_pause(experiment, _grow, "plan its next step") for experiment in waiting)


def due() -> QuerySet[Experiment]:
    """Return the experiments that grow, have not stopped, and have no run left.

    One that stopped because its data set was not loaded goes on when that run was run again and ended well.
    """
    failed = PREPARATION.exclude(state=State.SUCCEEDED)
    goes_on = Q(growth=None) | Q(growth__stopped=Growth.Stopped.NOT)
    mended = Q(growth__stopped=Growth.Stopped.UNPREPARED) & ~Exists(failed)
    return Experiment.objects.filter(goes_on | mended, ~Exists(UNFINISHED)).exclude(grows=Experiment.Grows.NOT)


def stop(experiment: Experiment) -> None:
    """Plan no further step, as a person cancelled the experiment."""
    if experiment.grows:
        Growth.objects.get_or_create(experiment=experiment)
        _stop(experiment, Growth.Stopped.CANCELLED)


@transaction.atomic
def _grow(experiment: Experiment) -> int:
    """Plan the next step, unless another worker has the row or was first; returns how many runs it planned."""
    row = Experiment.objects.select_for_update(skip_locked=True).filter(pk=experiment.pk).first()
    if row is None or not due().filter(pk=experiment.pk).exists():
        return 0
    growth, _ = Growth.objects.get_or_create(experiment=row)
    runs = list(row.runs.select_related("result").order_by("position"))
    if reason := _early_stop(runs):
        _stop(row, reason)
        return 0
    step, reason, findings = STEPPERS[row.grows](row, runs)
    growth.found, growth.stopped = findings, Growth.Stopped.NOT
    growth.steps = [*growth.steps, findings] if step else growth.steps
    growth.save(update_fields=["found", "stopped", "steps"])
    if not step:
        _stop(row, reason)
    return len(_plan(row, step))


def _early_stop(runs: Sequence[Run]) -> str:
    if any(run.state == State.CANCELLED for run in runs):
        return Growth.Stopped.CANCELLED
    if any(run.kind != Run.Kind.MEASURE and run.state != State.SUCCEEDED for run in runs):
        return Growth.Stopped.UNPREPARED
    return Growth.Stopped.NOT


def _stop(experiment: Experiment, reason: str) -> None:
    ongoing = Growth.objects.filter(experiment=experiment, stopped=Growth.Stopped.NOT)
    ongoing.update(stopped=reason, stopped_at=Now())


# --- what comes next -------------------------------------------------------------------------------------------

Step = list[tuple[System, int]]


def _search(experiment: Experiment, runs: Sequence[Run]) -> tuple[Step, str, Findings]:
    """Choose one run at the level that tells most; returns it, why the search stops (empty if not), and findings."""
    # numpy takes 70 MB and 0.1 s: only what searches needs it.
    from benchhub.analysis.search.advice import Goal, advise
    from benchhub.analysis.search.belief import Trial
    from benchhub.analysis.search.words import reasons

    goal = Goal(experiment.most_runs, experiment.noisy_runs, experiment.precision, ceiling_ms=experiment.ceiling_ms)
    measuring = [run for run in runs if run.kind == Run.Kind.MEASURE]
    counted = set(experiment.runs.measured().values_list("pk", flat=True))
    trials = [Trial(run.clients, run.result.throughput) for run in measuring if run.pk in counted]
    spoilt, refused = len(measuring) - len(trials), _failed_levels(measuring, counted)
    advice = advise(sorted(experiment.client_levels), trials, goal, spoilt=spoilt, refused=refused)
    step = [(system, advice.clients) for system in _systems(experiment) if advice.clients]
    return step, advice.stopped, asdict(advice) | {"n": len(trials), "spoilt": spoilt, "reasons": reasons(advice)}


def _failed_levels(measuring: Sequence[Run], counted: set[int]) -> list[int]:
    """Return the levels that have no result after REFUSED_AFTER runs."""
    levels = [run.clients for run in measuring]
    levels_with_result = {run.clients for run in measuring if run.pk in counted}
    counts = Counter(level for level in levels if level not in levels_with_result)
    return [level for level, count in counts.items() if count >= REFUSED_AFTER]


def _decide(experiment: Experiment, _runs: Sequence[Run]) -> tuple[Step, str, Findings]:
    """Choose a pair of runs and their order; returns them, why the decision stops (empty if not), and findings.

    A pair of which a run has no result counts towards the budget only.
    """
    baseline, other = _systems(experiment)
    question = decide.Question(experiment.most_runs // 2, experiment.precision)
    pairs, spoilt = _pairs(experiment, baseline, other)
    verdict = decide.decide(pairs, question, spoilt=spoilt)
    findings = asdict(verdict) | {"spoilt": spoilt, "sentence": verdict.sentence(other.label, baseline.label)}
    if verdict.answer:
        reason = Growth.Stopped.KNOWN if verdict.is_precise else Growth.Stopped.SPENT
        return [], reason, findings
    is_first = decide.baseline_goes_first(len(pairs) + spoilt + 1, experiment.order_seed)
    order = (baseline, other) if is_first else (other, baseline)
    return [(system, experiment.client_levels[0]) for system in order], "", findings


def _pairs(experiment: Experiment, baseline: System, other: System) -> tuple[list[tuple[float, float]], int]:
    """Return the throughputs of baseline and other system, pair by pair, and how many pairs lack one of them."""
    rows = experiment.runs.measured().values_list("repeat", "system", "result__throughput")
    tps = {(repeat, system): throughput for repeat, system, throughput in rows}
    repeats = experiment.runs.filter(kind=Run.Kind.MEASURE).order_by("repeat").values_list("repeat", flat=True)
    pairs = [(tps.get((repeat, baseline.pk)), tps.get((repeat, other.pk))) for repeat in repeats.distinct()]
    complete = [(first, second) for first, second in pairs if first is not None and second is not None]
    return complete, len(pairs) - len(complete)


def _systems(experiment: Experiment) -> list[System]:
    rows = experiment.experimentsystem_set.select_related("system__instance__host")
    return [row.system for row in rows]


STEPPERS: dict[str, Callable[[Experiment, Sequence[Run]], tuple[Step, str, Findings]]] = {
    Experiment.Grows.PEAK: _search,
    Experiment.Grows.CEILING: _search,
    Experiment.Grows.DECIDE: _decide,
}


# --- planning it -----------------------------------------------------------------------------------------------


def _plan(experiment: Experiment, step: Step) -> list[Run]:
    """Put the step's runs at the end of the experiment; a data set that is to be loaded anew comes before each."""
    last = experiment.runs.aggregate(last=Max("position"))["last"] or 0
    steps = [planned for system, clients in step for planned in _steps(experiment, system, clients)]
    protocols = {system.pk: Protocol.stored(specs.protocol_form(experiment, system)) for system, _ in step}
    rows = enumerate(steps, start=last + 1)
    return plan.save_runs([plan.run_of(experiment, planned, protocols[planned.system.pk], i) for i, planned in rows])


def _steps(experiment: Experiment, system: System, clients: int) -> list[plan.Step]:
    earlier_runs = experiment.runs.filter(kind=Run.Kind.MEASURE, system=system, clients=clients)
    step = plan.Step(system, clients, (earlier_runs.aggregate(last=Max("repeat"))["last"] or 0) + 1)
    is_each = experiment.loading == Experiment.Loading.EACH
    return [step._replace(kind=Run.Kind.LOAD), step] if is_each else [step]


def most(experiment: Experiment, systems: Sequence[System]) -> list[plan.Step]:
    """Return the most steps that it can grow by, to estimate what the plan takes; their levels are not known yet."""
    if not experiment.grows:
        return []
    clients = max(experiment.client_levels)
    steps = [plan.Step(systems[i % len(systems)], clients, repeat=i + 1) for i in range(experiment.noisy_runs)]
    is_each = experiment.loading == Experiment.Loading.EACH
    loads = [step._replace(kind=Run.Kind.LOAD) for step in steps] if is_each else []
    return [*steps, *loads]
