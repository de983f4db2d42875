"""From an experiment to its runs: what will be run, in which order, under which digests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from math import ceil
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from benchhub.analysis.planning import deadlines, design
from benchhub.analysis.planning.rates import expected_tps
from benchhub.analysis.protocol import digest
from benchhub.bench.models import NOT_COPIED, Design, Experiment, ExperimentSystem, Protocol, Result, Run, System
from benchhub.bench.queue import timetable
from benchhub.catalog.instances.clusters import asked_cluster
from benchhub.catalog.models import Configuration, DataSet, Hardware, Host, Instance, Workload
from benchhub.catalog.shared.machines import cpu_count
from runners import tools
from runners.contract import Cluster, Endpoint, RunSpec
from runners.tools import sampling

PASSED = "The experiment that it repeats was confined to times that pass: give it times of its own, then resume it."
LOAD_GUESS_S = 10
THREAD_RULE = re.compile(r"clients(?:/([1-9][0-9]{0,3}))?|([1-9][0-9]{0,3})")
QUIET_S = 3  # how long a canary watches the driver's CPU before anything is done


def resolve_threads(rule: str, clients: int) -> int:
    """Return the number of threads.

    `clients`: one per client; `clients/N`: one per N clients; `N`: that many, but never more than clients.
    Raises ValueError for another rule.
    """
    match = THREAD_RULE.fullmatch(rule)
    if not match:
        raise ValueError(f"'{rule}' is not a thread rule: write clients, clients/2 or a number from 1 to 9999.")
    per_thread, number = match.groups()
    return min(int(number), clients) if number else max(1, clients // int(per_thread or 1))


def system_under_test(
    instance: Instance,
    *,
    driver: Host,
    hardware: Hardware,
    path: str,
    label: str,
    configuration: Configuration | None = None,
) -> System:
    """Return the one row for this combination, saved; the same combination is always the same system.

    `configuration` is the instance's own unless given: a cluster of BenchHub's own may have any.
    """
    candidate = asked_system(
        instance, driver=driver, hardware=hardware, path=path, label=label, configuration=configuration
    )
    if candidate._state.adding:
        fields = {field.attname: getattr(candidate, field.attname) for field in System._meta.concrete_fields}
        del fields["id"], fields["digest"]
        candidate, _ = System.objects.get_or_create(digest=candidate.digest, defaults=fields)
    return candidate


def asked_system(
    instance: Instance,
    *,
    driver: Host,
    hardware: Hardware,
    path: str,
    label: str,
    configuration: Configuration | None = None,
) -> System:
    """Return the system as system_under_test does, but leave a new one unsaved: looking at a plan saves nothing."""
    configuration = configuration or instance.configuration
    form = digest.system_form(_system_fields(instance, configuration, driver, hardware, path))
    candidate = System(
        label=label,
        instance=instance,
        driver=driver,
        hardware=hardware,
        build=instance.build,
        configuration=configuration,
        path=path,
        description=form,
        digest=digest.digest(form),
    )
    systems = System.objects.select_related(
        "instance__host", "instance__cluster", "driver", "hardware", "build", "configuration"
    )
    return systems.filter(digest=candidate.digest).first() or candidate


def _system_fields(
    instance: Instance, configuration: Configuration, driver: Host, hardware: Hardware, path: str
) -> dict[str, Any]:
    return {
        "instance": instance.name,
        "server": instance.host.name if instance.host else "",
        "driver": "" if instance.host_id == driver.pk else driver.name,
        "hardware": {
            "name": str(hardware),
            "sockets": hardware.sockets,
            "cores_per_socket": hardware.cores_per_socket,
            "threads_per_core": hardware.threads_per_core,
            # Left out where sockets are alike, so that no stored system gets another digest.
            **({"unlike_cores": list(hardware.unlike_cores)} if hardware.unlike_cores else {}),
        },
        "build": {"version": instance.build.version, "binary": instance.build.binary_digest},
        "settings": {name: str(value) for name, value in configuration.settings.items()},
        "os_settings": {name: str(value) for name, value in configuration.os_settings.items()},
        "volatile_storage": "yes" if configuration.volatile_storage else "",
        "path": path,
    }


def protocol_form(experiment: Experiment, system: System) -> dict[str, Any]:
    workload, configuration = experiment.workload, system.configuration
    tool = tools.get(workload.tool)
    return digest.protocol_form(
        {
            "tool": workload.tool,
            "parameters": dict(workload.parameters),
            "data_set": dict(tool.data_set(workload.parameters)),
            "client": tool.client(experiment.client_build.version),
            "duration_s": experiment.duration_s,
            "warmup_s": experiment.warmup_s,
            "vacuum": experiment.vacuum,
            "checkpoint": experiment.checkpoint,
            "loading": experiment.loading,
            "warmup_run": warmup_form(experiment),
            "settle_s": experiment.settle_s,
            # A run on a cluster of BenchHub's own begins with a start of the server, whatever was asked for.
            "restart": experiment.restart or system.instance.own_cluster is not None,
            "drop_caches": experiment.drop_caches,
            "open_loop": open_loop_form(experiment),
            "thread_rule": experiment.thread_rule,
            "path": system.path,
            "durability": digest.durability(configuration.settings, volatile_storage=configuration.volatile_storage),
        }
    )


def warmup_form(experiment: Experiment) -> dict[str, int]:
    """Return duration and clients of the warm-up that is a run of its own; empty for none."""
    if not experiment.warmup_run_s:
        return {}
    return {"duration_s": experiment.warmup_run_s, "clients": experiment.warmup_run_clients}


def open_loop_form(experiment: Experiment) -> dict[str, int]:
    """Return the clients and the latency limit that all runs of a sweep of rates share; empty for a closed loop."""
    if not experiment.rates_tps:
        return {}
    return {"clients": experiment.client_levels[0], "latency_limit_us": experiment.latency_limit_us}


def run_spec(experiment: Experiment, system: System, clients: int) -> RunSpec:
    instance, parameters = system.instance, experiment.workload.parameters
    cluster = instance.own_cluster
    is_restarted = experiment.restart and cluster is None
    spec = RunSpec(
        tool=experiment.workload.tool,
        tool_version=experiment.client_build.version,
        bin_directory=experiment.client_bin_directory,
        endpoint=Endpoint(
            path=system.path,  # type: ignore[arg-type]  # the column's check constraint is the same list
            address=instance.address,
            port=instance.port,
            database=instance.database,
            user=instance.username,
        ),
        parameters=parameters,
        clients=clients,
        threads=resolve_threads(experiment.thread_rule, clients),
        duration_s=experiment.duration_s,
        warmup_s=experiment.warmup_s,
        vacuum=experiment.vacuum,
        checkpoint=experiment.checkpoint,
        settle_s=experiment.settle_s,
        drop_caches=experiment.drop_caches,
        restart_directory=instance.data_directory if is_restarted else "",
        restart_bin_directory=instance.bin_directory if is_restarted else "",
        cluster=asked_cluster(cluster, system.configuration) if cluster else None,
        **_telemetry(experiment, system),
    )
    spec = sampled(spec, system, experiment.workload)
    tools.get(spec.tool).check(spec)
    return spec


def _telemetry(experiment: Experiment, system: System) -> dict[str, Any]:
    """Return what of the spec says whether and where the machine and the server are observed beside the load."""
    if experiment.no_telemetry:
        return {}
    if not system.driven_locally:
        return {"telemetry": "elsewhere"}
    return {"telemetry": "here", "data_directory": system.instance.data_directory}


def sampled(spec: RunSpec, system: System, workload: Workload) -> RunSpec:
    """Return the spec with the share of transactions to log, by the rate seen before, else as a pilot will tell."""
    tool = tools.get(spec.tool)
    if not tool.samples_log:
        return spec
    seen_tps = expected_tps(spec.clients, Result.objects.tps_by_clients(system, workload))
    guess_tps = min(spec.clients, system.hardware.threads) * tool.tps_guess(workload.parameters)
    return sampling.planned(spec, seen_tps, guess_tps, _cpus(spec, system))


def _cpus(spec: RunSpec, system: System) -> int:
    """Return on how many of the driver's CPUs, as a probe counted them, the load generator's threads can work."""
    return min(spec.threads, cpu_count(system.driver.facts) or (system.driver.hardware or system.hardware).threads)


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
    if experiment.warmup_run_s:
        warmup = Step(used_systems[0], experiment.warmup_run_clients, 1, Run.Kind.WARMUP, bool(canary))
        yield from (warmup._replace(system=system) for system in used_systems)
    in_canary = set(canary)
    for slot in (*canary, *(slot for slot in run_slots if slot not in in_canary)):
        step = step_at(experiment, systems[slot.system - 1], slot.level, slot.repeat)
        step = step._replace(is_canary=slot in in_canary)
        if experiment.loading == Experiment.Loading.EACH:
            yield step._replace(kind=Run.Kind.LOAD)
        yield step


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
    protocols = {system.pk: Protocol.stored(protocol_form(experiment, system)) for system in systems}
    missing = without_data_set(experiment, systems) if to_load is None else to_load
    for position, step in enumerate(steps(experiment, systems, missing), start=1):
        yield run_of(experiment, step, protocols[step.system.pk], position)


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
        recipe = recipe_digest(part.workload)
        is_each, used_systems = part.loading == Experiment.Loading.EACH, in_use(part, systems)
        by_instance = {system.instance_id: system for system in reversed(used_systems)}
        firsts = [system for system in used_systems if by_instance[system.instance_id] is system]
        missing.append([system for system in firsts if recipes.get(system.instance_id) != recipe and not is_each])
        recipes |= dict.fromkeys((system.instance_id for system in used_systems), recipe)
    return missing


def recipe_digest(workload: Workload) -> str:
    """Return the digest that names the data set of a workload."""
    return digest.digest(tools.get(workload.tool).data_set(workload.parameters))


def _coming_recipes(instances: Sequence[int]) -> dict[int, str]:
    """Return by instance the recipe of its data set, unless a load under way or in the queue replaces it."""
    current = DataSet.objects.filter(instance__in=instances, replaced_at=None)
    recipes = dict(current.values_list("instance", "recipe_digest"))
    loads = Run.objects.unfinished().filter(kind=Run.Kind.LOAD, system__instance__in=instances)
    for load in loads.select_related("system", "experiment__workload"):
        if recipes.get(load.system.instance_id) != recipe_digest(load.experiment.workload):
            recipes.pop(load.system.instance_id, None)
    return recipes


def run_of(experiment: Experiment, step: Step, protocol: Protocol, position: int) -> Run:
    """Return one run of the plan, unsaved, with its frozen RunSpec."""
    spec, load_s = spec_for(experiment, step), load_guess_s(experiment.workload)
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
        rate_tps=step.rate_tps,
        is_canary=step.is_canary,
        spec=asdict(replace(spec, deadline_s=deadline_s)),
        protocol=protocol,
        expected_s=expected_s,
    )


def spec_for(experiment: Experiment, step: Step) -> RunSpec:
    spec = run_spec(experiment, step.system, max(step.clients, 1))
    if step.kind == Run.Kind.LOAD:
        return replace(run_spec(experiment, step.system, 1), kind="load")
    if step.kind == Run.Kind.WARMUP:
        return replace(spec, duration_s=experiment.warmup_run_s, warmup_s=0, settle_s=0)
    spec = replace(spec, watch_idle_s=QUIET_S if step.is_canary else 0)
    return at_rate(experiment, spec, step.rate_tps, _cpus(spec, step.system)) if step.rate_tps else spec


def at_rate(experiment: Experiment, spec: RunSpec, rate_tps: int, cpus: int) -> RunSpec:
    """Return the spec as an open loop, its logs sampled by the rate. Raises ValueError if the tool takes no rate."""
    if not tools.get(spec.tool).takes_rate:
        tool_names = " or ".join(name for name, tool in tools.TOOLS.items() if tool.takes_rate)
        raise ValueError(f"{spec.tool} takes no rate: an open loop needs a workload of {tool_names}.")
    open_loop = replace(
        spec,
        parameters=tools.get(spec.tool).at_rate(spec.parameters, rate_tps, experiment.latency_limit_ms),
        log_sampling_rate=sampling.choose_sampling_rate(rate_tps, spec.duration_s, cpus),
        expected_tps=rate_tps,
        pilot_s=0,
    )
    tools.get(spec.tool).check(open_loop)
    return open_loop


def load_guess_s(workload: Workload) -> int:
    """Return the seconds that this data set takes to load, as a guess where nothing better is known."""
    return ceil(max(LOAD_GUESS_S, tools.get(workload.tool).load_guess_s(workload.parameters)))


@transaction.atomic
def queue(experiment: Experiment, systems: list[System], to_load: Sequence[System] | None = None) -> list[Run]:
    """Save the experiment with its systems and put all its runs into the queue; ValueError says what cannot be run.

    `to_load`: as for expand().
    """
    experiment.recipe_digest = recipe_digest(experiment.workload)
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
    experiment: Experiment, user: Any = None, design: Design | None = None, to_load: Sequence[System] | None = None
) -> Experiment:
    """Queue the same experiment once more, beside the first, on the same systems as they are now.

    `design`: the design that it becomes a part of. `to_load`: as for expand().
    """
    systems = [row.system for row in experiment.experimentsystem_set.select_related("system")]
    fields = {field.attname: getattr(experiment, field.attname) for field in Experiment._meta.concrete_fields}
    for name in NOT_COPIED:
        del fields[name]
    copy = Experiment(**fields, created_by=user, design=design)
    copy.canary = Experiment.Canary.WAITS if copy.canary else Experiment.Canary.NONE
    if experiment.reservations.filter(window=None).exists():
        copy.paused_at, copy.pause_reason = Now(), PASSED
    queue(copy, systems, to_load)
    timetable.copy_windows(experiment, copy)
    return copy


def spec_of(run: Run) -> RunSpec:
    """Return the frozen RunSpec as it was planned."""
    cluster = run.spec.get("cluster")
    return RunSpec(
        **{
            **run.spec,
            "endpoint": Endpoint(**run.spec["endpoint"]),
            "cluster": Cluster(**{**cluster, "initdb_options": tuple(cluster["initdb_options"])}) if cluster else None,
        }
    )


def spec_now(run: Run) -> RunSpec:
    """Return the RunSpec to start by: without the planned pilot where a rate has been seen since."""
    spec = spec_of(run)
    return sampled(spec, run.system, run.experiment.workload) if spec.pilot_s else spec
