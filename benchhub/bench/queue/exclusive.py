"""Exclusive periods as objects: those in force, those that are claimed, and why an experiment may have none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from benchhub.analysis.planning.exclusive import Exclusive, excess, first_overlap, span_of
from benchhub.analysis.planning.timetable import Period, occurrences
from benchhub.analysis.words import count, duration, listing
from benchhub.bench.models import Experiment, ExperimentSystem, Reservation, System, Window
from benchhub.catalog.instances import poolers
from benchhub.catalog.models import Host

from . import gates

LOCK = 4_846_214_914  # one experiment claims its periods at a time; any number that nothing else locks
BRIEF = timedelta(seconds=1)
COMPARED_AHEAD = timedelta(days=366)  # windows by clocks of two zones may overlap in one half of the year alone
HOSTS = ("driver", "instance__host")


class OverlapError(PermissionDenied):
    """Another experiment has claimed a period since the form was checked; the sentence says which."""


def in_force(now: datetime) -> list[Exclusive]:
    """Return the periods, from now on, that keep runs of others out: as the gate has them."""
    # What is in force takes long to ask for, and mostly no period is to come.
    coming = Reservation.objects.filter(period__endswith__gt=now, experiment__is_exclusive=True)
    keys = list(coming.values_list("pk", flat=True))
    if not keys:
        return []
    rows = list(gates.in_force().filter(pk__in=keys).select_related("experiment__occasion_of").order_by("period"))
    resources = _resources({row.experiment_id for row in rows if row.experiment_id})
    return [
        Exclusive(row.experiment.name, family(row.experiment), resources[row.experiment.pk], _period(row), row.zone)
        for row in rows
        if row.experiment
    ]


def family(experiment: Experiment) -> frozenset[str]:
    """Return the names of an experiment's relatives: it, its design, and the plan that it is a turn of."""
    names = {f"experiment {experiment.pk}"} if experiment.pk else set()
    if experiment.design_id:
        names.add(f"design {experiment.design_id}")
    if experiment.occasion_of:
        names.add(f"experiment {experiment.occasion_of.plan_id}")
    return frozenset(names)


def resources(systems: Iterable[System]) -> frozenset[str]:
    """Return all that runs on these systems need to themselves."""
    return frozenset(name for system in systems for name in gates.resources(system))


def periods(windows: Iterable[Window], now: datetime) -> list[Period]:
    """Return the periods of weekly windows, for a year and wherever later an exclusive experiment was given one."""
    return _occurrences(windows, _compared(now))


def _compared(now: datetime) -> list[Period]:
    """Return when the periods of weekly windows are computed, to be compared with those of others."""
    rows = Reservation.objects.filter(experiment__in=Experiment.objects.exclusive().values("pk"), window=None)
    return _spans(now, [_period(row) for row in rows.filter(period__endswith__gt=now + COMPARED_AHEAD)])


def _spans(now: datetime, own_periods: Iterable[Period]) -> list[Period]:
    """Return when windows are compared with these periods: in the coming year, and in those that lie beyond."""
    return [Period(now, now + COMPARED_AHEAD), *(row for row in own_periods if row.end > now + COMPARED_AHEAD)]


def _occurrences(windows: Iterable[Window], spans: Collection[Period]) -> list[Period]:
    times = {
        period
        for window in windows
        for span in spans
        for period in occurrences(window.weekdays, window.starts_at, window.ends_at, window.zone, span.start, span.end)
    }
    return sorted(times)


def refusal(
    systems: Collection[System], own_periods: Iterable[Period], zone: str, relatives: Collection[str] = ()
) -> str:
    """Say why nobody may have the hosts of these systems to themselves in these periods; empty if they may.

    `relatives` are those whose periods may overlap with them, as of family().
    """
    needed, names = resources(systems), frozenset(relatives)
    return _refusal(systems, [Exclusive("", names, needed, period, zone) for period in own_periods])


def refusal_of(experiment: Experiment, more: Sequence[Period] = (), zone: str = "UTC") -> str:
    """Say why the experiment may not have its hosts to itself, with `more` periods than it has; empty if it may."""
    now, systems, relatives = timezone.now(), _systems(experiment), family(experiment)
    times = [*_times([experiment], now, _compared(now))[experiment.pk], *((period, zone) for period in more)]
    needed = resources(systems)
    own = [Exclusive(experiment.name, relatives, needed, period, own_zone) for period, own_zone in times]
    return _refusal(systems, own, experiment.pk)


def _refusal(systems: Collection[System], own: Sequence[Exclusive], key: int | None = None) -> str:
    """Say why these systems may not be had in the own periods, which are those of the experiment of the key."""
    if not own:
        return ""
    claims = list(_claims(own, key))
    if sentence := _too_long(systems, own, claims):
        return sentence
    others = (row for row in claims if row.keeps_out(own[0].family, own[0].resources))
    overlap = first_overlap((row.period for row in own), others)
    if overlap is None:
        return ""
    return f"{overlap.name} has hosts of it to itself from {overlap.text}: choose other times, or wait for its end."


def copy_refusal(experiment: Experiment, relatives: Collection[str] = ()) -> str:
    """Say why a copy of the experiment, in its weekly windows, may not have the hosts to itself; empty if it may."""
    windows = list(experiment.windows.order_by("pk"))
    zone = next((window.zone for window in windows), "UTC")
    return refusal(_systems(experiment), periods(windows, timezone.now()), zone, relatives)


def claim(experiment: Experiment) -> None:
    """Make sure, until the end of the caller's transaction, that no two experiments get the same hosts to themselves.

    Raises OverlapError where another was quicker. One that keeps nobody out claims nothing.
    """
    _lock()
    if Experiment.objects.filter(pk=experiment.pk, is_exclusive=True).exists():
        _claim(experiment)


def claim_again(experiments: Collection[int]) -> None:
    """Claim the periods of those that have ended and are about to go on: meanwhile others may have got them.

    Raises OverlapError as claim() does, before anything of them is queued.
    """
    rows = Experiment.objects.filter(pk__in=experiments, is_exclusive=True)
    if rows.exists():
        _lock()
        for experiment in rows.exclude(pk__in=Experiment.objects.exclusive().values("pk")):
            _claim(experiment)


def _lock() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])


def _claim(experiment: Experiment) -> None:
    if sentence := refusal_of(experiment):
        raise OverlapError(sentence)


def visit_refusals(hosts: Iterable[Host], length: timedelta = BRIEF) -> dict[int, str]:
    """Say by key of each host on which nothing but the runs of an experiment may take place for so long from now.

    One call reads the periods once: ask for all hosts of a step together. Without a host it asks nothing.
    """
    needed, now = list(hosts), timezone.now()
    rows = [row for row in in_force(now) if row.reaches_into(now, now + length)] if needed else []
    refusals = {}
    for host in needed if rows else ():
        if holder := next((row for row in rows if row.keeps_out((), gates.host_resources([host]))), None):
            refusals[host.pk] = f"{holder.name} has the host to itself, {holder.text}: it is done when that is over."
    return refusals


def _too_long(systems: Iterable[System], own: Sequence[Exclusive], claims: Collection[Exclusive]) -> str:
    for host, name in _affected(systems):
        if not host.longest_exclusive_h:
            return f"Nobody may have {name} to themselves: its page says so. Untick it, or ask an administrator."
        if text := _beyond(host, own, claims):
            together = f"Exclusive experiments together may have {name} for {lent(host)}"
            return f"{together}, but {text}: choose shorter or fewer times."
    return ""


def lent(host: Host) -> str:
    """Say for how long exclusive experiments together may have the host: '8 hours within any 24'."""
    span = span_of(timedelta(hours=host.longest_exclusive_h))
    return f"{count(host.longest_exclusive_h, 'hour')} within any {span // timedelta(hours=1)}"


def _beyond(host: Host, own: Sequence[Exclusive], claims: Iterable[Exclusive]) -> str:
    """Say how much longer the host would be had than it may be, by the own periods or with those of others there."""
    others = [row for row in claims if not row.resources.isdisjoint(gates.host_resources([host]))]
    limit = timedelta(hours=host.longest_exclusive_h)
    worst = excess(own, (), limit) or excess(own, others, limit)
    if worst is None:
        return ""
    companions = f"with {listing(worst.names)} " if worst.names else ""
    return f"{companions}would have it for {duration(worst.held.total_seconds())}"


def uncovered(systems: Collection[System]) -> str:
    """Say which machines of the systems others may use all the same; empty where all are hosts of theirs."""
    hosts = [host for system in systems for host in (system.driver, system.instance.host) if host]
    covered = {host.address for host in hosts}
    covered |= {system.instance.address for system in systems if system.instance.host}
    machines = listing(dict.fromkeys(name for system in systems for name in _beside(system, covered)))
    return f"Nobody else runs on its hosts meanwhile: {machines} may be in use all the same." if machines else ""


def _beside(system: System, covered: Collection[str]) -> Iterator[str]:
    """Yield the machines of the system that are at none of the covered addresses."""
    instance = system.instance
    if instance.host is None and instance.address not in covered:
        yield f"the machine of {instance} ({instance.address})"
    if poolers.is_on_driver(instance, system.driver):
        return
    if instance.pooler_address not in {*covered, instance.address}:
        yield f"the machine of the pooler of {instance} ({instance.pooler_address})"


def _affected(systems: Iterable[System]) -> Iterator[tuple[Host, str]]:
    """Yield the systems' hosts with their names, then those that share hardware with one of them."""
    hosts = {host.pk: host for system in systems for host in (system.driver, system.instance.host) if host}
    yield from ((host, str(host)) for host in hosts.values())
    if groups := {host.interference_group_id for host in hosts.values() if host.interference_group_id}:
        others = Host.objects.filter(interference_group__in=groups).exclude(pk__in=hosts).defer("facts", "private_key")
        yield from ((host, f"{host}, which shares hardware with a host of it,") for host in others.order_by("name"))


def _claims(own: Sequence[Exclusive], key: int | None) -> Iterator[Exclusive]:
    """Yield the coming periods in which exclusive experiments, be they paused, and plans that recur have such hosts.

    They are those of the own periods' hosts, and of others that share hardware with them; relatives are among them,
    and the experiment of the key is not.
    """
    needed = own[0].resources
    rows = [row for row in Experiment.objects.exclusive().select_related("occasion_of") if row.pk != key]
    held = _resources({row.pk for row in rows})
    holders = [row for row in rows if needed & held[row.pk]]
    now = timezone.now()
    times = _times(holders, now, _spans(now, (row.period for row in own))) if holders else {}
    for holder in holders:
        for period, zone in times[holder.pk]:
            yield Exclusive(holder.name, family(holder), held[holder.pk], period, zone)


def _times(
    holders: Sequence[Experiment], now: datetime, spans: Collection[Period]
) -> dict[int, list[tuple[Period, str]]]:
    """Return the coming periods of each, with their zones. Windows may not be written out as rows yet."""
    times: dict[int, list[tuple[Period, str]]] = defaultdict(list)
    once = Reservation.objects.filter(experiment__in=holders, window=None, period__endswith__gt=now)
    for row in once:
        times[row.experiment_id or 0].append((_period(row), row.zone))
    for window in Window.objects.filter(experiment__in=holders):
        times[window.experiment_id or 0] += [(period, window.zone) for period in _occurrences([window], spans)]
    return times


def _period(row: Reservation) -> Period:
    return Period(row.period.lower, row.period.upper)


def _systems(experiment: Experiment) -> list[System]:
    return list(_light(System.objects.filter(experimentsystem__experiment=experiment)))


def _light(systems: QuerySet[System]) -> QuerySet[System]:
    heavy = [f"{host}__{name}" for host in HOSTS for name in ("facts", "private_key")]
    return systems.select_related(*HOSTS).defer(*heavy)


def _resources(experiments: Collection[int]) -> dict[int, frozenset[str]]:
    """Return by experiment all that its runs need to themselves; without a query where there is no experiment."""
    names: dict[int, set[str]] = defaultdict(set)
    if experiments:
        pairs = list(ExperimentSystem.objects.filter(experiment__in=experiments).values_list("experiment", "system"))
        by_key = _light(System.objects.all()).in_bulk({system for _, system in pairs})
        for experiment, system in pairs:
            names[experiment].update(gates.resources(by_key[system]))
    return defaultdict(frozenset, {experiment: frozenset(texts) for experiment, texts in names.items()})
