"""From an experiment to its runs: what will be run, in which order, under which digests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from benchhub.analysis.planning import deadlines, design
from benchhub.bench.models import NOT_COPIED, Design, Experiment, ExperimentSystem, Protocol, Recurrence, Run, System
from benchhub.bench.queue import exclusive, timetable
from benchhub.catalog.models import DataSet
from runners.contract import RunSpec

from . import specs

PASSED = "The experiment that it repeats was confined to times that pass: give it times of its own, then resume it."


class Step(NamedTuple):
    """A run before it is one. A load, once for all, and a canary's preparation belong to no level or repeat (0)."""

    system: System
    clients: int = 0
    repeat: int = 0
    kind: str = Run.Kind.MEASURE
    is_canary: bool = False
    rate_tps: int = 0


def steps(experiment: Experiment, systems: Sequence[System], to_load: Sequence[System]) -> Iterator[Step]:
    """Yield the steps in their order: missing data sets, warm-ups, the canary, then the other runs as ordered.

    A plan that grows (bench/growth.py) has no more than its preparation at first.
    """
    run_slots = [] if experiment.grows else slots(experiment, len(systems))
    canary = design.canary(run_slots) if experiment.canary else []
    used_systems = in_use(experiment, systems)
    systems_to_load = [system for system in used_systems if system in to_load]
    yield from (Step(system, kind=Run.Kind.LOAD, is_canary=bool(canary)) for system in systems_to_load)
    yield from (step._replace(is_canary=bool(canary)) for step in warmups(experiment, used_systems))
    in_canary = set(canary)
    for slot in (*canary, *(slot for slot in run_slots if slot not in in_canary)):
        step = step_at(experiment, systems[slot.system - 1], slot.level, slot.repeat)
        step = step._replace(is_canary=slot in in_canary)
        if experiment.loading == Experiment.Loading.EACH:
            yield step._replace(kind=Run.Kind.LOAD)
        yield step


def warmups(experiment: Experiment, systems: Sequence[System]) -> list[Step]:
    """Return the warm-ups that are runs of their own, one for each system; empty where none is to be."""
    if not experiment.warmup_run_s:
        return []
    return [Step(system, experiment.warmup_run_clients, 1, Run.Kind.WARMUP) for system in systems]


def in_use(experiment: Experiment, systems: Sequence[System]) -> list[System]:
    """Return the systems that have a run left under the conditions. A plan that grows uses all of its systems."""
    if experiment.grows:
        return list(systems)
    numbers = {slot.system for slot in slots(experiment, len(systems))}
    return [system for number, system in enumerate(systems, start=1) if number in numbers]


def step_at(experiment: Experiment, system: System, level: int, repeat: int) -> Step:
    """Return a measuring run at one of the experiment's levels: a number of clients or, in an open loop, a rate."""
    if experiment.rates_tps:
        return Step(system, experiment.client_levels[0], repeat, rate_tps=level)
    return Step(system, level, repeat)


def slots(experiment: Experiment, systems: int) -> list[design.Slot]:
    """Return the measuring runs in the experiment's order."""
    return design.slots(
        systems,
        experiment.levels,
        experiment.repeats,
        order=experiment.order,
        seed=experiment.order_seed,
        kept_only=experiment.kept_only,
        left_out=experiment.left_out,
        level="rate" if experiment.rates_tps else "clients",
    )


def expand(experiment: Experiment, to_load: Sequence[System] | None = None) -> Iterator[Run]:
    """Yield the experiment's runs, unsaved, in order.

    `to_load`: the systems whose data set is loaded first; None for those that lack it now.
    """
    rows = experiment.experimentsystem_set.select_related("system__instance__cluster")
    systems = [row.system for row in rows]
    protocols = {system.pk: Protocol.stored(specs.protocol_form(experiment, system)) for system in systems}
    missing = without_data_set(experiment, systems) if to_load is None else to_load
    spec_of = cache(partial(spec_for, experiment))  # repeats differ in their position alone
    for position, step in enumerate(steps(experiment, systems, missing), start=1):
        yield run_of(experiment, step, protocols[step.system.pk], position, spec_of(step._replace(repeat=0)))


def without_data_set(experiment: Experiment, systems: Sequence[System]) -> list[System]:
    """Return the systems whose data set has to be loaded first."""
    return loads([experiment], systems)[0]


def loads(parts: Sequence[Experiment], systems: Sequence[System]) -> list[list[System]]:
    """Return for each part the systems whose data set it has to load first; the parts run one after the other.

    Systems on one instance share its data set, which the first of them loads.
    """
    recipes = _coming_recipes([system.instance_id for system in systems])
    missing = []
    for part in parts:
        recipe = specs.recipe_digest(part.workload)
        is_each, used_systems = part.loading == Experiment.Loading.EACH, in_use(part, systems)
        by_instance = {system.instance_id: system for system in reversed(used_systems)}
        firsts = [system for system in used_systems if by_instance[system.instance_id] is system]
        missing.append([system for system in firsts if recipes.get(system.instance_id) != recipe and not is_each])
        recipes |= dict.fromkeys((system.instance_id for system in used_systems), recipe)
    return missing


def _coming_recipes(instances: Sequence[int]) -> dict[int, str]:
    """Return by instance the recipe of its data set, unless a load under way or in the queue replaces it."""
    current = DataSet.objects.filter(instance__in=instances, replaced_at=None)
    recipes = dict(current.values_list("instance", "recipe_digest"))
    loads = Run.objects.unfinished().filter(kind=Run.Kind.LOAD, system__instance__in=instances)
    for load in loads.select_related("system", "experiment__workload"):
        if recipes.get(load.system.instance_id) != specs.recipe_digest(load.experiment.workload):
            recipes.pop(load.system.instance_id, None)
    return recipes


def run_of(experiment: Experiment, step: Step, protocol: Protocol, position: int, spec: RunSpec | None = None) -> Run:
    """Return one run of the plan, unsaved, with its frozen RunSpec: that of the step where none is given."""
    spec, load_s = spec or spec_for(experiment, step), specs.load_guess_s(experiment.workload)
    expected_s = load_s if step.kind == Run.Kind.LOAD else spec.expected_s
    deadline_s = deadlines.deadline_s(expected_s, load_s, least_s=settings.LEAST_DEADLINE_SECONDS)
    return Run(
        experiment=experiment,
        system=step.system,
        kind=step.kind,
        position=position,
        clients=step.clients,
        threads=min(spec.threads, step.clients),
        repeat=step.repeat,
        rate_tps=(step.rate_tps or specs.offered_tps(spec)) if step.kind == Run.Kind.MEASURE else 0,
        is_canary=step.is_canary,
        spec=asdict(replace(spec, deadline_s=deadline_s)),
        protocol=protocol,
        expected_s=expected_s,
    )


def spec_for(experiment: Experiment, step: Step) -> RunSpec:
    if step.kind == Run.Kind.LOAD:
        return specs.load_spec(experiment, step.system)
    if step.kind == Run.Kind.WARMUP:
        return specs.warmup_spec(experiment, step.system, step.clients)
    spec = specs.run_spec(experiment, step.system, max(step.clients, 1))
    spec = replace(spec, watch_idle_s=specs.QUIET_S if step.is_canary else 0)
    return specs.at_rate(experiment, spec, step.rate_tps, specs.cpus(spec, step.system)) if step.rate_tps else spec


@transaction.atomic
def queue(experiment: Experiment, systems: list[System], to_load: Sequence[System] | None = None) -> list[Run]:
    """Save the experiment with its systems and put all its runs into the queue; ValueError says what cannot be run.

    `to_load`: as for expand().
    """
    experiment.recipe_digest = specs.recipe_digest(experiment.workload)
    experiment.save()
    ExperimentSystem.objects.bulk_create(
        ExperimentSystem(experiment=experiment, system=system, position=i) for i, system in enumerate(systems)
    )
    return save_runs(list(expand(experiment, to_load)))


def save_runs(runs: list[Run]) -> list[Run]:
    for run in runs:
        run.spec["application_name"] = f"benchhub-{run.uuid}"
    return Run.objects.bulk_create(runs)


@transaction.atomic
def design_again(design: Design, user: Any = None) -> Design:
    """Queue all parts of a design once more, as a design of its own."""
    parts = list(design.experiments.select_related("workload").order_by("pk"))
    systems = [row.system for row in parts[0].experimentsystem_set.select_related("system")]
    copy = Design.objects.create(name=design.name, remark=design.remark, preset=design.preset, created_by=user)
    for part, to_load in zip(parts, loads(parts, systems), strict=True):
        again(part, user, copy, to_load)
    return copy


@transaction.atomic
def again(
    experiment: Experiment,
    user: Any = None,
    design: Design | None = None,
    to_load: Sequence[System] | None = None,
    occasion_of: Recurrence | None = None,
) -> Experiment:
    """Queue the same experiment once more, beside the first, on the same systems as they are now.

    `design`: the design that it becomes a part of; `occasion_of`: the rule whose turn it is. `to_load`: as for
    expand(). Raises OverlapError where it would keep others out, and another has its hosts at the same times.
    """
    systems = [row.system for row in experiment.experimentsystem_set.select_related("system")]
    fields = {field.attname: getattr(experiment, field.attname) for field in Experiment._meta.concrete_fields}
    for name in NOT_COPIED:
        del fields[name]
    copy = Experiment(**fields, created_by=user, design=design, occasion_of=occasion_of)
    copy.canary = Experiment.Canary.WAITS if copy.canary else Experiment.Canary.NONE
    if experiment.reservations.filter(window=None).exists():
        copy.paused_at, copy.pause_reason = Now(), PASSED
    queue(copy, systems, to_load)
    timetable.copy_windows(experiment, copy)
    if copy.is_exclusive:
        exclusive.claim(copy)
    return copy
