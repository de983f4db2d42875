"""What goes to a run next: it needs several things at once, or a data set, and would be overtaken for ever otherwise.

Later runs still start there where they are expected to end before it could start.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Now

from benchhub.bench.models import ExperimentSystem, Hold, Promise, Run, Tenancy
from benchhub.catalog.models.moments import interval

from . import gates

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
    if not _may_be_overtaken():
        return
    free_at = dict(_expected_ends())
    is_lost = Q(run__watch__unreachable_since__isnull=False)
    lost = set(Hold.objects.filter(is_lost).values_list("resource", flat=True))
    hosts = ("experiment", "system__driver", "system__instance__host")
    runs: QuerySet[Any] = gates.next_contended().select_related(*hosts).annotate(now=Now())
    for run in runs:
        if run.gate_occupied:
            yield from _data_sets(run)
        elif not run.system.driven_locally:
            names = gates.resources(run)
            if lost.intersection(names):
                continue  # nobody knows when that ends: the rest goes to whoever can use it
            starts_at = max(free_at.get(name, run.now) for name in names)
            yield from (Promise(resource=name, run=run, starts_at=starts_at) for name in names)


def _may_be_overtaken() -> bool:
    """Tell whether anything in the queue may need what is never free together. Mostly it does not: that is quick."""
    queued = Run.objects.queued()
    is_apart = ~Q(system__instance__host=F("system__driver")) | Q(system__instance__host=None)
    if Hold.objects.exists() and queued.filter(is_apart).exists():
        return True
    return Tenancy.objects.exists() and queued.filter(experiment__tenancies=None).exists()


def _expected_ends() -> Iterator[tuple[str, datetime]]:
    """Return by resource when what holds it is expected to end, its rest included."""
    seconds = F("run__expected_s") + F("run__experiment__rest_s") + gates.MARGIN_S
    end = Coalesce("free_at", Coalesce("run__started_at", Now()) + interval(seconds))
    yield from Hold.objects.annotate(end=end).values_list("resource", "end")


def _data_sets(run: Any) -> Iterator[Promise]:
    """Promise the data sets of all instances of the run's experiment, which begins on all of them together."""
    systems = ExperimentSystem.objects.filter(experiment=run.experiment)
    instances = set(systems.values_list("system__instance", flat=True))
    tenants = Run.objects.unfinished().filter(experiment__tenancies__instance__in=instances)
    left = tenants.exclude(experiment=run.experiment).order_by().values("experiment")
    seconds = [row["seconds"] or 0.0 for row in left.annotate(seconds=Sum("expected_s"))]
    starts_at = run.now + timedelta(seconds=max(seconds, default=0.0))
    yield from (Promise(resource=f"data:{instance}", run=run, starts_at=starts_at) for instance in sorted(instances))
