"""What goes to a run next: it needs several things at once, or a data set, and would be overtaken for ever otherwise.

Later runs still start there where they are expected to end before it could start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from django.db import connection, transaction
from django.db.models import F, Q, Sum
from django.db.models.functions import Coalesce, Now

from benchhub.bench.models import Attempt, Hold, Promise, Run, Tenancy
from benchhub.catalog.models.moments import interval

from . import gates, tenancies

AWAY_SERVER = "The host of its server is away, or refuses BenchHub, so that nothing was begun."
LOCK = 4_846_214_913  # promises are written by one worker at a time; any number that nothing else locks


def renew() -> None:
    """Promise anew what the first runs need that wait for nothing else. Other workers see the old rows or the new."""
    by_key = {(promise.resource, promise.run_id): promise for promise in _promises()}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        stored = Promise.objects.in_bulk()
        gone = [pk for pk, row in stored.items() if (row.resource, row.run_id) not in by_key]
        if gone:
            Promise.objects.filter(pk__in=gone).delete()
        if by_key:
            keys, fields = ["resource", "run"], ["starts_at"]
            Promise.objects.bulk_create(
                by_key.values(), update_conflicts=True, unique_fields=keys, update_fields=fields
            )


def _promises() -> Iterator[Promise]:
    systems = _systems_overtaken()
    runs = gates.next_contended(systems) if systems else []
    if runs:
        yield from _in_order(runs, _Free.read(runs))


def _in_order(runs: Iterable[Run], free: _Free) -> Iterator[Promise]:
    """Yield the promises that hold back anything: one that starts no earlier than one before it does not."""
    first: dict[str, datetime] = {}
    for run in runs:
        for name, starts_at in free.needs(run).items():
            if name not in first or starts_at < first[name]:
                first[name] = starts_at
                yield Promise(resource=name, run=run, starts_at=starts_at)


def _systems_overtaken() -> str:
    """Return the condition on systems of which a queued run may need what is never free together; empty for none.

    Mostly there is none, or it is one that drives a server from elsewhere: both are quick.
    """
    if Tenancy.objects.exists() and Run.objects.queued().filter(experiment__tenancies=None).exists():
        return gates.ALL_SYSTEMS
    return gates.APART_SYSTEMS if Hold.objects.exists() and gates.has_apart() else ""


@dataclass(frozen=True, slots=True)
class _Free:
    """When what runs need is expected to be free: hosts, and instances of those whose data sets others have.

    `lost` are resources of runs on hosts that are not reached, and the hosts of servers that were away at a start.
    """

    now: datetime
    ends: Mapping[str, datetime]
    lost: frozenset[str]
    instances: Mapping[int, Sequence[int]]
    left_s: Mapping[int, Mapping[int, float]]

    @classmethod
    def read(cls, runs: Iterable[Any]) -> _Free:
        is_lost = Q(run__watch__unreachable_since__isnull=False)
        lost = Hold.objects.filter(is_lost).values_list("resource", flat=True)
        occupied = {run.experiment_id for run in runs if run.gate_occupied}
        instances, left_s = (tenancies.instances_of(occupied), _left_s()) if occupied else ({}, {})
        return cls(_now(), dict(_expected_ends()), frozenset(lost) | _away(runs), instances, left_s)

    def needs(self, run: Any) -> dict[str, datetime]:
        """Return what is promised to the run, and from when; nothing where nobody knows when that is free."""
        if run.gate_occupied:
            instances = self.instances.get(run.experiment_id, ())  # none where another worker has just begun on them
            starts_at = self._data_sets_at(run.experiment_id, instances)
            return {f"data:{instance}": starts_at for instance in instances}
        names = gates.resources(run.system)
        if self.lost.intersection(names):
            return {}  # the rest goes to whoever can use it
        return dict.fromkeys(names, max(self.ends.get(name, self.now) for name in names))

    def _data_sets_at(self, experiment: int, instances: Sequence[int]) -> datetime:
        """Return when all instances of an experiment are free, as it begins on all of them together."""
        tenants = [tenant for instance in instances for tenant in self.left_s.get(instance, {}).items()]
        return self.now + timedelta(seconds=max((left_s for key, left_s in tenants if key != experiment), default=0.0))


def _away(runs: Iterable[Run]) -> frozenset[str]:
    """Return the hosts of servers that nobody has reached since, or that rest because a start found them so."""
    servers = {run.pk: run.system.instance.host for run in runs if run.system.instance.host}
    newest = Attempt.objects.filter(run__in=servers).order_by("run", "-number").distinct("run")
    put_off = {attempt.run_id for attempt in newest if attempt.reason.startswith(AWAY_SERVER)}
    resting = set(Hold.objects.filter(run=None, build=None).values_list("resource", flat=True))
    return frozenset(
        name
        for key, host in servers.items()
        if (name := f"host:{host.pk}") and (host.unreachable_since or (key in put_off and name in resting))
    )


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        return cast(datetime, cursor.fetchone()[0])


def _left_s() -> dict[int, dict[int, float]]:
    """Return by instance the seconds that are left of the runs of each experiment that its data set belongs to."""
    tenants = Run.objects.unfinished().filter(experiment__in=Tenancy.objects.values("experiment"))
    seconds = dict(tenants.order_by().values_list("experiment").annotate(Sum("expected_s")))
    left_s: dict[int, dict[int, float]] = {}
    for instance, experiment in Tenancy.objects.values_list("instance", "experiment"):
        left_s.setdefault(instance, {})[experiment] = float(seconds.get(experiment) or 0)
    return left_s


def _expected_ends() -> Iterator[tuple[str, datetime]]:
    """Return by resource when what holds it is expected to end, its rest included."""
    seconds = F("run__expected_s") + F("run__experiment__rest_s") + gates.MARGIN_S
    end = Coalesce("free_at", Coalesce("run__started_at", Now()) + interval(seconds))
    yield from Hold.objects.annotate(end=end).values_list("resource", "end")
