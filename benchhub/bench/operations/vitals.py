"""The numbers that tell how BenchHub is, by the database's clock: for /metrics, /health and the doctor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, DateTimeField, ExpressionWrapper, F, FloatField, Func, Max, Q, QuerySet, Sum
from django.db.models.functions import Now
from kombu.exceptions import OperationalError as BrokerError

from benchhub.analysis.words import count, duration, word
from benchhub.bench.models import EndedCount, Run, Watch, Worker
from benchhub.bench.models.states import ACTIVE, State
from benchhub.catalog.models import Host
from benchhub.catalog.models.moments import interval
from benchhub.celery import IMPATIENT, app

STUCK_AFTER = timedelta(seconds=2 * settings.LEASE_SECONDS)
# A load of a data set has no expected end; a measured run may take twice as long as planned, and what comes on top.
OVERDUE_AFTER = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Vitals:
    """Ages in seconds; None where there is nothing to have an age. `contact_ages_s` are of runs under way."""

    runs: Mapping[str, int]
    hosts: Mapping[str, int]
    tick_lag_s: float | None
    workers_alive: int
    ssh_errors: Mapping[str, int]
    contact_ages_s: tuple[float, ...]
    unreachable: int
    stuck: int
    overdue: int


def vitals() -> Vitals:
    """Return the numbers, by a handful of queries. Raises OperationalError without a database."""
    hosts = dict(Host.objects.values_list("trust").annotate(Count("pk")))
    return Vitals(
        runs=runs_by_state(),
        hosts={trust: hosts.get(trust, 0) for trust in Host.Trust.values},
        tick_lag_s=tick_lag_s(),
        workers_alive=Worker.objects.alive().count(),
        ssh_errors=dict(Worker.objects.order_by("name").values_list("name", "ssh_errors")),
        contact_ages_s=contact_ages_s(),
        unreachable=Host.objects.filter(unreachable_since__isnull=False).count(),
        stuck=stuck().count(),
        overdue=overdue().count(),
    )


def runs_by_state() -> dict[str, int]:
    """Return the number of runs in each state, all of one moment. Those that have ended are not counted anew."""
    left = Run.objects.unfinished().order_by().values_list("state").annotate(total=Count("pk"))
    ended = EndedCount.objects.order_by().values_list("state").annotate(total=Sum("number"))
    return dict.fromkeys(State.values, 0) | dict(left.union(ended, all=True))


def tick_lag_s() -> float | None:
    """Return the seconds since a worker last did what the ticker had asked for; None when none ever has."""
    last = Worker.objects.aggregate(lag=_seconds(Now() - Max("ticked_at")))["lag"]
    return None if last is None else max(0.0, float(last))  # its time is to come where a clock was set back since


def standstill() -> str:
    """Say in a sentence that runs wait and nobody works on them; empty where none waits, or somebody does."""
    waiting = Run.objects.unfinished().count()
    if not waiting or Worker.objects.alive().exists():
        return ""
    lag_s = tick_lag_s()
    since = "since it was installed" if lag_s is None else f"for {duration(lag_s)}"
    return (
        f"BenchHub has stood still {since}: {count(waiting, 'run')} {word('waits', waiting, 'wait')}, and expected "
        "times no longer hold. Runs on hosts go on and are collected later. Start a worker and the ticker; manage.py "
        "doctor says which is missing."
    )


def contact_ages_s() -> tuple[float, ...]:
    """Return how many seconds ago each host of a run under way was last heard of, smallest first."""
    watches = Watch.objects.filter(run__state__in=[State.RUNNING, State.COLLECTING], last_contact_at__isnull=False)
    ages = watches.annotate(age_s=_seconds(Now() - F("last_contact_at"))).values_list("age_s", flat=True)
    return tuple(sorted(float(age_s) for age_s in ages))


def stuck() -> QuerySet[Watch]:
    """Return the runs under way that nobody looks at: due for several leases, and no worker holds a lease on them."""
    late = Q(next_look_at__lt=Now() - STUCK_AFTER)
    free = Q(lease_until=None) | Q(lease_until__lt=Now() - STUCK_AFTER)
    return Watch.objects.filter(late, free, run__state__in=ACTIVE)


def overdue() -> QuerySet[Run]:
    """Return the measured runs that should have ended long ago."""
    twice = interval(F("expected_s") * 2.0)
    latest = ExpressionWrapper(Now() - twice - OVERDUE_AFTER, output_field=DateTimeField())
    return Run.objects.filter(state=State.RUNNING, kind=Run.Kind.MEASURE, started_at__lt=latest)


def broker_depth() -> int | None:
    """Return how many messages wait for a worker; None when the broker cannot be reached."""
    try:
        with app.connection_for_read(transport_options=IMPATIENT) as connection:
            return int(connection.default_channel.client.llen(app.conf.task_default_queue))
    except (BrokerError, OSError, *app.connection_for_read().connection_errors):
        return None


def _seconds(interval: Any) -> Func:
    epoch = "extract(epoch FROM %(expressions)s)::float8"
    return Func(interval, template=epoch, output_field=FloatField())
