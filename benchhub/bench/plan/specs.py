"""What a run is asked to do, and under which protocol: from an experiment and a system to a frozen RunSpec."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import Any

from benchhub.analysis.planning.rates import expected_tps
from benchhub.analysis.protocol import digest
from benchhub.bench.models import Experiment, Result, Run, System
from benchhub.catalog.instances.clusters import copies
from benchhub.catalog.instances.clusters.settings import asked_cluster
from benchhub.catalog.instances.grants import asked_settings
from benchhub.catalog.instances.poolers import asked_pooler
from benchhub.catalog.models import Workload
from benchhub.catalog.shared.machines import cpu_count
from runners import tools
from runners.contract import Cluster, DataCopy, Endpoint, Kind, Pooler, RunSpec, ServerSettings
from runners.tools import sampling

LOAD_GUESS_S = 10
THREAD_RULE = re.compile(r"clients(?:/([1-9][0-9]{0,3}))?|([1-9][0-9]{0,3})")
# To end a run whose plan cannot be read, and for nothing else: what it may have begun or changed is ended and put back.
REMAINS = RunSpec(
    tool="",
    tool_version="",
    bin_directory="",
    endpoint=Endpoint(path="loopback", address="", port=0, database="", user=""),
    parameters={},
    telemetry="elsewhere",
    server_settings=ServerSettings(settings={}, settings_in_force={}),
)
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


def protocol_form(experiment: Experiment, system: System) -> dict[str, Any]:
    workload, configuration = experiment.workload, system.configuration
    tool = tools.get(workload.tool)
    return digest.protocol_form(
        {
            "tool": workload.tool,
            "parameters": dict(tool.distinguishing(workload.parameters)),
            "data_set": dict(tool.data_set(workload.parameters)),
            "client": tool.client(experiment.client_build.version),
            "duration_s": experiment.duration_s,
            "warmup_s": experiment.warmup_s,
            "vacuum": experiment.vacuum,
            "checkpoint": experiment.checkpoint,
            "loading": experiment.loading,
            "warmup_run": warmup_form(experiment),
            "settle_s": experiment.settle_s,
            "restart": experiment.restart or _begins_with_a_start(system),
            "drop_caches": experiment.drop_caches,
            "open_loop": open_loop_form(experiment),
            "thread_rule": experiment.thread_rule,
            "path": system.path,
            "durability": digest.durability(configuration.settings, volatile_storage=configuration.volatile_storage),
        }
    )


def _begins_with_a_start(system: System) -> bool:
    """Tell whether runs there begin with a start of the server, whatever is asked for."""
    return system.instance.own_cluster is not None or (system.driven_locally and bool(system.instance.restart_words))


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


def run_spec(
    experiment: Experiment,
    system: System,
    clients: int,
    kind: Kind = "measure",
    parameters: Mapping[str, Any] | None = None,
) -> RunSpec:
    """Return the spec of a run at a level. `parameters`: other ones than the workload's; None for those.

    Raises ValueError for what the load generator cannot run.
    """
    instance = system.instance
    cluster = instance.own_cluster
    is_restarted = experiment.restart and not _begins_with_a_start(system)
    spec = RunSpec(
        tool=experiment.workload.tool,
        tool_version=experiment.client_build.version,
        bin_directory=experiment.client_bin_directory,
        endpoint=_endpoint(system),
        parameters=experiment.workload.parameters if parameters is None else parameters,
        kind=kind,
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
        server_settings=None if cluster else _server_settings(system),
        pooler=asked_pooler(instance),
        **_telemetry(experiment, system),
    )
    spec = sampled(spec, system, experiment.workload)
    tools.get(spec.tool).check(spec)
    return spec


def _endpoint(system: System) -> Endpoint:
    instance = system.instance
    return Endpoint(
        path=system.path,  # type: ignore[arg-type]  # the column's check constraint is the same list
        address=instance.address,
        port=instance.port,
        database=instance.database,
        user=instance.username,
    )


def _server_settings(system: System) -> ServerSettings | None:
    """Return what a run changes of somebody's server. Raises ValueError for what its owner does not grant."""
    change = asked_settings(system.instance, system.configuration)
    if change is None or system.driven_locally:
        return change
    if change.settings:
        raise ValueError(f"{system.instance.host} itself drives what changes settings of {system.instance}: choose it.")
    return None  # a restart that goes with every change is none of its own


def warmup_spec(experiment: Experiment, system: System, clients: int) -> RunSpec:
    """Return the spec of a warm-up that is a run of its own: of a load shape its first rate, with as many clients.

    It needs no clients for rates that it does not have, so what is checked is the load that stays as it begins.
    """
    workload = experiment.workload
    parameters = tools.get(workload.tool).at_first_segment(workload.parameters)
    spec = run_spec(experiment, system, max(clients, 1), parameters=parameters)
    return replace(spec, duration_s=experiment.warmup_run_s, warmup_s=0, settle_s=0)


def load_spec(experiment: Experiment, system: System) -> RunSpec:
    """Return the spec of a load of the data set; on an own cluster with the copy that it may take or leave."""
    spec = run_spec(experiment, system, 1, "load")
    if spec.cluster is None or experiment.no_copies:
        return spec
    copy = DataCopy(copy_key(experiment, system), keeps=experiment.loading == Experiment.Loading.EACH)
    return replace(spec, cluster=replace(spec.cluster, copy=copy))


def copy_key(experiment: Experiment, system: System) -> str:
    """Return the name of the copy of the experiment's data set on the system's cluster."""
    recipe = tools.get(experiment.workload.tool).data_set(experiment.workload.parameters)
    return copies.key(system.instance.cluster, system.configuration, recipe)


def _telemetry(experiment: Experiment, system: System) -> dict[str, Any]:
    """Return what of the spec says whether and where the machine and the server are observed beside the load."""
    if not experiment.telemetry:
        return {}
    if not system.driven_locally:
        return {"telemetry": "elsewhere"}
    return {"telemetry": "here", "data_directory": system.instance.data_directory}


def sampled(spec: RunSpec, system: System, workload: Workload) -> RunSpec:
    """Return the spec with the share of transactions to log, by the rate seen before, else as a pilot will tell."""
    tool = tools.get(spec.tool)
    if not tool.samples_log:
        return spec
    if rate_tps := tool.rate_tps(workload.parameters):
        return sampling.planned(spec, rate_tps, rate_tps, cpus(spec, system))
    seen_tps = expected_tps(spec.clients, Result.objects.tps_by_clients(system, workload))
    guess_tps = min(spec.clients, system.hardware.threads) * tool.tps_guess(workload.parameters)
    if pause_ms := tool.pause_ms(workload.parameters):
        guess_tps = min(guess_tps, 1000 * spec.clients / pause_ms)
    return sampling.planned(spec, seen_tps, guess_tps, cpus(spec, system))


def cpus(spec: RunSpec, system: System) -> int:
    """Return on how many of the driver's CPUs, as a probe counted them, the load generator's threads can work."""
    return min(spec.threads, cpu_count(system.driver.facts) or (system.driver.hardware or system.hardware).threads)


def recipe_digest(workload: Workload) -> str:
    """Return the digest that names the data set of a workload."""
    return digest.digest(tools.get(workload.tool).data_set(workload.parameters))


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


def offered_tps(spec: RunSpec) -> int:
    """Return the highest rate at which a run is offered transactions; 0 for a closed loop.

    Such a run does what it is offered, so its throughput is no level of a curve against clients.
    """
    return ceil(tools.get(spec.tool).rate_tps(spec.parameters))


def load_guess_s(workload: Workload) -> int:
    """Return the seconds that this data set takes to load, as a guess where nothing better is known."""
    return ceil(max(LOAD_GUESS_S, tools.get(workload.tool).load_guess_s(workload.parameters)))


def spec_of(run: Run) -> RunSpec:
    """Return the frozen RunSpec as it was planned."""
    cluster, change, pooler = (run.spec.get(name) for name in ("cluster", "server_settings", "pooler"))
    parts = {
        "endpoint": Endpoint(**run.spec["endpoint"]),
        "cluster": _cluster(cluster) if cluster else None,
        "server_settings": ServerSettings(**{**change, "restart": tuple(change["restart"])}) if change else None,
        "pooler": Pooler(**pooler) if pooler else None,
    }
    return RunSpec(**{**run.spec, **parts})


def _cluster(fields: Mapping[str, Any]) -> Cluster:
    copy = fields.get("copy")
    changes = {"initdb_options": tuple(fields["initdb_options"]), "copy": DataCopy(**copy) if copy else None}
    return Cluster(**{**fields, **changes})


def spec_now(run: Run) -> RunSpec:
    """Return the RunSpec to start by: as copies, rates and the owner's command are now."""
    spec = spec_of(run)
    if spec.cluster and spec.cluster.copy:
        row = run.system.instance.cluster.copies.filter(key=spec.cluster.copy.key).first()
        return replace(spec, cluster=replace(spec.cluster, copy=copies.decided(spec.cluster.copy, row)))
    if spec.server_settings and spec.server_settings.restart and run.system.instance.restart_words:
        restart = run.system.instance.restart_words
        spec = replace(spec, server_settings=replace(spec.server_settings, restart=restart))
    return sampled(spec, run.system, run.experiment.workload) if spec.pilot_s else spec
