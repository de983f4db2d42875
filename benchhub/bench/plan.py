"""From an experiment to its runs: what will be run, in which order, under which digests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import ceil
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models.functions import Now

from benchhub.analysis import digest
from benchhub.catalog.models import DataSet, Hardware, Host, Instance, Workload
from runners import tools
from runners.contract import Endpoint, RunSpec
from runners.tools import choose_sampling_rate

from . import timetable
from .models import Experiment, ExperimentSystem, Protocol, Result, Run, System

# Assumed where nothing has been measured yet: more than today's machines reach, so that logs stay bounded.
UNKNOWN_TPS = 1_000_000
UNKNOWN_TPS_PER_THREAD = 60_000
PASSED = "The experiment that it repeats was confined to times that pass: give it times of its own, then resume it."
LOAD_GUESS_S = 10


def resolve_threads(rule: str, clients: int) -> int:
    """`clients`: one thread per client; `clients/N`: one per N clients; `N`: that many, but never more than clients."""
    if rule == "clients":
        return clients
    if rule.startswith("clients/") and rule.removeprefix("clients/").isdecimal():
        return max(1, clients // max(1, int(rule.removeprefix("clients/"))))
    if rule.isdecimal() and int(rule) >= 1:
        return min(int(rule), clients)
    raise ValueError(f"'{rule}' is not a thread rule: write clients, clients/2 or a number.")


def system_under_test(instance: Instance, *, driver: Host, hardware: Hardware, path: str, label: str) -> System:
    """The one row for this combination; the same combination asked for again is the same system."""
    asked = asked_system(instance, driver=driver, hardware=hardware, path=path, label=label)
    if asked._state.adding:
        fields = {field.attname: getattr(asked, field.attname) for field in System._meta.concrete_fields}
        del fields["id"], fields["digest"]
        asked, _ = System.objects.get_or_create(digest=asked.digest, defaults=fields)
    return asked


def asked_system(instance: Instance, *, driver: Host, hardware: Hardware, path: str, label: str) -> System:
    """As system_under_test, but a combination that is new is not saved: to look at a plan leaves nothing behind."""
    form = digest.system_form(_system_fields(instance, driver, hardware, path))
    new = System(
        label=label,
        instance=instance,
        driver=driver,
        hardware=hardware,
        build=instance.build,
        configuration=instance.configuration,
        path=path,
        description=form,
        digest=digest.digest(form),
    )
    known = System.objects.select_related("instance__host", "driver", "hardware", "build", "configuration")
    return known.filter(digest=new.digest).first() or new


def _system_fields(instance: Instance, driver: Host, hardware: Hardware, path: str) -> dict[str, Any]:
    configuration = instance.configuration
    return {
        "instance": instance.name,
        "server": instance.host.name if instance.host else "",
        "driver": "" if instance.host_id == driver.pk else driver.name,
        "hardware": {
            "name": str(hardware),
            "sockets": hardware.sockets,
            "cores_per_socket": hardware.cores_per_socket,
            "threads_per_core": hardware.threads_per_core,
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
            "thread_rule": experiment.thread_rule,
            "path": system.path,
            "durability": digest.durability(configuration.settings, volatile_storage=configuration.volatile_storage),
        }
    )


def run_spec(experiment: Experiment, system: System, clients: int) -> RunSpec:
    instance, parameters = system.instance, experiment.workload.parameters
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
        log_sampling_rate=choose_sampling_rate(expected_tps(system, clients), experiment.duration_s),
    )
    tools.get(spec.tool).check(spec)
    return spec


def expected_tps(system: System, clients: int) -> float:
    """Twice the best that this system has shown, for the size of logs; a high guess where it has shown nothing.

    The guess grows with what can work at the same time: clients, and hardware threads to serve them.
    """
    results = Result.objects.none() if system._state.adding else Result.objects.filter(run__system=system)
    best = results.order_by("-throughput").values_list("throughput", flat=True).first()
    busy = min(clients, system.hardware.threads)
    return 2 * best if best else min(UNKNOWN_TPS, busy * UNKNOWN_TPS_PER_THREAD)


class Step(NamedTuple):
    """A run before it is one: no clients and no repeat means that it loads the system's data set."""

    system: System
    clients: int = 0
    repeat: int = 0


def steps(experiment: Experiment, systems: Sequence[System], to_load: Sequence[System]) -> Iterator[Step]:
    """The order of the runs: missing data sets first, then blocked by repeat, then by level."""
    yield from (Step(system) for system in to_load)
    for repeat in range(1, experiment.repeats + 1):
        for clients in experiment.client_levels:
            yield from (Step(system, clients, repeat) for system in systems)


def expand(experiment: Experiment) -> Iterator[Run]:
    """The experiment's runs, unsaved, in order."""
    systems = [row.system for row in experiment.experimentsystem_set.select_related("system__instance")]
    protocols = {system.pk: Protocol.of(protocol_form(experiment, system)) for system in systems}
    to_load = without_data_set(experiment, systems)
    for position, step in enumerate(steps(experiment, systems, to_load), start=1):
        protocol = protocols[step.system.pk]
        if step.repeat:
            yield _measure_run(experiment, step.system, protocol, position, step.clients, step.repeat)
        else:
            yield _load_run(experiment, step.system, protocol, position)


def without_data_set(experiment: Experiment, systems: Sequence[System]) -> list[System]:
    """The systems whose data set has to be loaded first."""
    recipe = digest.digest(tools.get(experiment.workload.tool).data_set(experiment.workload.parameters))
    instances = [system.instance_id for system in systems]
    there = DataSet.objects.filter(instance__in=instances, recipe_digest=recipe, replaced_at=None)
    loaded = set(there.values_list("instance", flat=True))
    return [system for system in systems if system.instance_id not in loaded]


def _load_run(experiment: Experiment, system: System, protocol: Protocol, position: int) -> Run:
    spec = asdict(run_spec(experiment, system, 1)) | {"kind": "load"}
    return Run(
        experiment=experiment,
        system=system,
        kind=Run.Kind.LOAD,
        position=position,
        clients=0,
        threads=0,
        repeat=0,
        spec=spec,
        protocol=protocol,
        expected_s=load_guess_s(experiment.workload),
    )


def load_guess_s(workload: Workload) -> int:
    """Seconds that a data set of this size takes to load, where nothing better is known."""
    return ceil(max(LOAD_GUESS_S, tools.get(workload.tool).load_guess_s(workload.parameters)))


def _measure_run(
    experiment: Experiment, system: System, protocol: Protocol, position: int, clients: int, repeat: int
) -> Run:
    spec = run_spec(experiment, system, clients)
    return Run(
        experiment=experiment,
        system=system,
        position=position,
        clients=clients,
        threads=spec.threads,
        repeat=repeat,
        spec=asdict(spec),
        protocol=protocol,
        expected_s=spec.expected_s,
    )


@transaction.atomic
def queue(experiment: Experiment, systems: list[System]) -> list[Run]:
    """Save the experiment with its systems and put all its runs into the queue; ValueError says what cannot be run."""
    experiment.save()
    ExperimentSystem.objects.bulk_create(
        ExperimentSystem(experiment=experiment, system=system, position=i) for i, system in enumerate(systems)
    )
    runs = list(expand(experiment))
    for run in runs:
        run.spec["application_name"] = f"benchhub-{run.uuid}"
    return Run.objects.bulk_create(runs)


@transaction.atomic
def again(experiment: Experiment, user: Any = None) -> Experiment:
    """Queue the same experiment once more, beside the first, on the same systems as they are now."""
    systems = [row.system for row in experiment.experimentsystem_set.select_related("system")]
    fields = {field.attname: getattr(experiment, field.attname) for field in Experiment._meta.concrete_fields}
    for own in ("id", "created_at", "created_by_id", "place", "paused_at", "pause_reason", "resumed_at"):
        del fields[own]
    copy = Experiment(**fields, created_by=user)
    if experiment.reservations.filter(window=None).exists():
        copy.paused_at, copy.pause_reason = Now(), PASSED
    queue(copy, systems)
    timetable.copy_windows(experiment, copy)
    return copy


def spec_of(run: Run) -> RunSpec:
    """The frozen RunSpec as it was planned."""
    return RunSpec(**{**run.spec, "endpoint": Endpoint(**run.spec["endpoint"])})
