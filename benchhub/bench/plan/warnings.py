"""Warnings about a plan, as sentences. They stop nobody: they come before the time is spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Q, Sum
from django.utils import timezone

from benchhub.analysis.planning.exclusive import Exclusive
from benchhub.analysis.planning.poolers import Pooled
from benchhub.analysis.planning.timetable import Period, earliest, occurrences
from benchhub.analysis.planning.warnings import Planned, beyond_disk_together
from benchhub.analysis.planning.warnings import warnings as part_warnings
from benchhub.analysis.protocol.digest import differing_fields, labels
from benchhub.analysis.protocol.settings import seconds
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL
from benchhub.analysis.words import duration
from benchhub.bench.models import Experiment, System, Tenancy
from benchhub.bench.plan import specs
from benchhub.bench.queue import exclusive, gates, timetable
from benchhub.catalog.instances import poolers
from benchhub.catalog.instances.inspection import looked_at as inspection_findings
from benchhub.catalog.models import Host, Inspection
from runners import tools

from . import plan
from .costs import data_set_bytes, disk_of, longest_s
from .form import PlanRequest
from .specs import protocol_form

DEFAULT_CONNECTIONS, CHECKPOINT_TIMEOUT_S = 100, 300  # PostgreSQL's own


def warnings(plan_request: PlanRequest, to_load: Sequence[Sequence[System]]) -> Iterator[str]:
    yield from _hosts(plan_request.systems)
    yield from _tests(plan_request.systems)
    yield from _protocols(plan_request)
    yield from _order(plan_request)
    for planned_part in planned(plan_request, to_load):
        yield from part_warnings(planned_part)
    yield from filter(None, _together(plan_request, to_load))
    yield from _tenants(plan_request)
    others = _exclusive(plan_request)
    yield from _times(plan_request, others)
    if plan_request.experiment.is_exclusive and (sentence := exclusive.uncovered(plan_request.systems)):
        yield sentence
    yield from dict.fromkeys(f"{row.name} has hosts of it to itself, next from {row.text}." for row in _next(others))
    yield from described_twice(plan_request.systems)
    yield from _os_settings(plan_request.systems)
    for system, label in zip(plan_request.systems, plan_request.labels, strict=True):
        if system.label != label:
            yield f"'{label}' is known already, and will be shown as '{system.label}'."


def _tests(systems: Sequence[System]) -> Iterator[str]:
    """Say of each server whose last test failed what it failed with: its runs would fail with the same."""
    keys = {system.instance_id for system in systems}
    for inspection in Inspection.objects.ended().filter(instance__in=keys).order_by("instance__name"):
        for finding in inspection_findings(inspection):
            if finding.level == "bad":
                yield f"The last test of {inspection.instance} failed at its {finding.name.lower()}: {finding.text}"


def _hosts(systems: Sequence[System]) -> Iterator[str]:
    hosts = [host for system in systems for host in (system.driver, system.instance.host) if host]
    for host in {host.pk: host for host in hosts}.values():
        if host.trust == Host.Trust.QUARANTINED:
            yield f"{host} is quarantined, as its host key changed: nothing runs there until you approve the new key."
        elif host.trust != Host.Trust.PINNED:
            yield f"The host key of {host} is not approved: nothing runs there until you approve it."
        elif not host.facts_at:
            yield f"{host} has not been probed: what its results were measured on is not known."
        elif host.contact_error:
            yield f"{host} could not be reached last time: {host.contact_error}"


def _protocols(plan_request: PlanRequest) -> Iterator[str]:
    first, *others = [protocol_form(plan_request.experiment, system) for system in plan_request.systems]
    fields = sorted({name for other in others for name in differing_fields(first, other)})
    if fields and not (plan_request.may_trade_durability and fields == ["durability"]):
        fields_text = ", ".join(labels(fields))
        yield f"The systems differ in their protocol ({fields_text}): they will not share a plot and are not compared."


def _order(plan_request: PlanRequest) -> Iterator[str]:
    """Warn of an order as listed: it runs in a row, so that no interval can be right (analysis/turns.py)."""
    experiment = plan_request.experiment
    if experiment.order != Experiment.Order.LISTED or experiment.grows:
        return
    hosts = [system.instance.host_id or f"instance {system.instance_id}" for system in plan_request.systems]
    if len(set(hosts)) < len(hosts):
        yield (
            "As listed, one system runs after the other on the same host, so a drift of the host looks like a "
            "difference: it will have neither interval nor verdict. Choose repeat by repeat, or at random."
        )
    if experiment.repeats >= FEWEST_FOR_INTERVAL and len(experiment.levels) > 1:
        yield "As listed, the repeats of a level run in a row: they will have no interval."


def planned(plan_request: PlanRequest, to_load: Sequence[Sequence[System]]) -> Iterator[Planned]:
    """Yield what each part asks of each system, as plain values."""
    for part, missing in zip(plan_request.parts, to_load, strict=True):
        slots = plan.slots(part, len(plan_request.systems))
        for number, system in enumerate(plan_request.systems, start=1):
            if levels := tuple(
                dict.fromkeys(
                    plan.step_at(part, system, slot.level, 1).clients for slot in slots if slot.system == number
                )
            ):
                yield _planned(part, system, levels, is_to_load=system in missing)


def _planned(part: Experiment, system: System, levels: tuple[int, ...], *, is_to_load: bool) -> Planned:
    settings, parameters = system.configuration.settings, part.workload.parameters
    server = system.instance.host
    disk, tool = disk_of(system), tools.get(part.workload.tool)
    return Planned(
        instance=str(system.instance),
        server=str(server or system.instance),
        driver=str(system.driver),
        levels=levels,
        threads=tuple(specs.resolve_threads(part.thread_rule, clients) for clients in levels),
        size=part.workload.size,
        duration_s=part.duration_s,
        repeats=max(part.repeats, part.most_runs),
        branches=tool.contended_rows(parameters),
        writes=tool.writes(parameters),
        max_connections=_max_connections(settings),
        is_max_connections_asked="max_connections" in settings and settings["max_connections"] != "",
        checkpoint_timeout_s=seconds(str(settings.get("checkpoint_timeout", ""))) or CHECKPOINT_TIMEOUT_S,
        data_set_bytes=data_set_bytes(part.workload),
        memory_bytes=system.instance.usable_memory_bytes,
        is_to_load=is_to_load,
        free_bytes=disk.get("free_bytes"),
        folder=disk.get("folder", ""),
        is_loaded_each_time=part.loading == Experiment.Loading.EACH,
        has_warmup_run=bool(part.warmup_run_s),
        drops_caches=part.drop_caches,
        warmup_s=part.warmup_s,
        rarest_share=tool.rarest_share(parameters),
        pause_ms=tool.pause_ms(parameters),
        longest_pause_ms=tool.expectation(parameters).longest_pause_ms,
        pooled=_pooled(part, system, max(levels)),
    )


def _max_connections(settings: Mapping[str, Any]) -> int:
    """Return what a configuration asks for; the server's default where it asks for nothing, or for no number."""
    text = str(settings.get("max_connections", ""))
    return int(text) if text.isdecimal() and len(text) < 10 else DEFAULT_CONNECTIONS


def _pooled(part: Experiment, system: System, clients: int) -> Pooled | None:
    """Return the load through the system's pooler, as that was seen when the system was described."""
    if not (pooler := system.description.get("pooler")):
        return None
    tool = tools.get(part.workload.tool)
    return Pooled(
        kind=pooler["kind"],
        instance=str(system.instance),
        settings=pooler,
        clients=clients,
        prepares=tool.prepares(part.workload.parameters),
        path=system.path,
        is_on_driver=poolers.is_on_driver(system.instance, system.driver),
        begins_together=tool.begins_together,
    )


def _together(plan_request: PlanRequest, to_load: Sequence[Sequence[System]]) -> Iterator[str]:
    """Warn of instances that share a file system, where each data set fits but all together may not."""
    sizes_by_disk: dict[tuple[str, str], dict[str, int]] = {}
    free_bytes: dict[tuple[str, str], int] = {}
    for part, missing in zip(plan_request.parts, to_load, strict=True):
        for system in missing:
            disk = disk_of(system)
            if "free_bytes" in disk:
                key = (str(system.instance.host), disk["folder"])
                free_bytes[key], sizes = disk["free_bytes"], sizes_by_disk.setdefault(key, {})
                instance = str(system.instance)
                sizes[instance] = max(sizes.get(instance, 0), data_set_bytes(part.workload))
    for (server, folder), sizes in sizes_by_disk.items():
        yield beyond_disk_together(sizes, free_bytes[server, folder], folder, server)


def _exclusive(plan_request: PlanRequest) -> list[Exclusive]:
    """Return the periods in which others have hosts of the plan to themselves."""
    needed = exclusive.resources(plan_request.systems)
    return [row for row in exclusive.in_force(timezone.now()) if row.keeps_out((), needed)]


def _next(periods: Sequence[Exclusive]) -> list[Exclusive]:
    """Return the next period of each experiment."""
    return list({row.name: row for row in reversed(periods)}.values())


def _times(plan_request: PlanRequest, others: Sequence[Exclusive]) -> Iterator[str]:
    """Warn where the longest run fits into no period that is left by its window and by what blocks its hosts."""
    now, length_s = timezone.now(), max(longest_s(part) for part in plan_request.parts) + gates.MARGIN_S
    hosts = {key for system in plan_request.systems for key in (system.driver_id, system.instance.host_id) if key}
    window, until = plan_request.window, now + timetable.AHEAD
    allowed = [Period(now, until)]
    if window:
        allowed = occurrences(window.weekdays, window.starts_at, window.ends_at, window.zone, now, until)
    blocked = [*timetable.periods(Q(host__in=hosts), now), *(row.period for row in others)]
    if earliest(now, timedelta(seconds=length_s), allowed, blocked) is None:
        yield (
            f"Its longest run takes {duration(length_s)}, and no period of the next {timetable.AHEAD.days} days is as "
            "long: it would wait for ever. Shorten the run, or give it more time."
        )


def _tenants(plan_request: PlanRequest) -> Iterator[str]:
    """Say what the data sets of experiments that have begun on the same instances cost this plan, or it them."""
    part = plan_request.experiment
    instances = [system.instance_id for system in plan_request.systems]
    tenancies = Tenancy.objects.filter(instance__in=instances, experiment__paused_at=None)
    others = tenancies.exclude(experiment__recipe_digest=specs.recipe_digest(part.workload))
    for other in Experiment.objects.filter(tenancies__in=others).select_related("workload").distinct().order_by("pk"):
        yield _between(part, other) if part.data_set_policy == part.DataSetPolicy.BETWEEN else _behind(other)


def _behind(other: Experiment) -> str:
    left_s = other.runs.unfinished().aggregate(left_s=Sum("expected_s"))["left_s"] or 0
    return f"{other} has begun on the same server, with other data: this waits for it, {duration(left_s)} or more."


def _between(part: Experiment, other: Experiment) -> str:
    if part.priority <= other.priority:
        return f"{_behind(other)} To come between, it needs a priority above {other.priority}."
    own_s, others_s = (specs.load_guess_s(experiment.workload) for experiment in (part, other))
    return (
        f"It comes between the runs of {other}, which then wait: its own data set is loaded first (about "
        f"{duration(own_s)}), and that of {other} anew afterwards (about {duration(others_s)})."
    )


def _os_settings(systems: Sequence[System]) -> Iterator[str]:
    for system in systems:
        os_settings, instance = system.configuration.os_settings, system.instance
        if os_settings and not instance.own_cluster:
            yield (
                f"{', '.join(os_settings)} of {system.configuration} must be set on the host of {instance} already: "
                "settings of the operating system are changed for clusters of BenchHub's own alone."
            )


def described_twice(systems: Sequence[System]) -> Iterator[str]:
    """Yield a sentence for each host whose systems are described by more than one hardware profile."""
    for host in {system.instance.host: None for system in systems if system.instance.host}:
        profiles = {system.hardware: None for system in systems if system.instance.host == host}
        if len(profiles) > 1:
            yield (
                f"One host, {host}, is described by different hardware ({', '.join(map(str, profiles))}): "
                "prices then compare machines that were never both measured. Give its systems a single one."
            )
