"""What a run needs to itself, and for how long."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import BooleanField, CharField, Exists, F, Func, OuterRef, Q, Value
from django.db.models.functions import Cast, Coalesce, Concat, Now

from benchhub.bench.models import Hold, Run, System
from benchhub.catalog.models import Host
from benchhub.catalog.models.moments import interval

MARGIN_S = 5  # what a run takes beside its load: counters before and after, collecting
DRIVER, SERVER = "system__driver", "system__instance__host"
IS_APART = ~Q(**{SERVER: F(DRIVER)}) | Q(**{f"{SERVER}__isnull": True})
# What a run needs to itself, by the names of resources().
NEEDS = (
    ("host", DRIVER),
    ("host", SERVER),
    ("instance", "system__instance"),
    ("group", f"{DRIVER}__interference_group"),
    ("group", f"{SERVER}__interference_group"),
)


def truth(condition: Any) -> Coalesce:
    """Return the condition as a column: false where the database cannot tell."""
    return Coalesce(Func(condition, template="(%(expressions)s)", output_field=BooleanField()), Value(False))


def needed(run: Run) -> timedelta:
    """Return how long the run is expected to occupy its host."""
    return timedelta(seconds=run.expected_s + MARGIN_S)


def needed_period(expected_s: Any) -> Func:
    return Func(Now(), Now() + interval(expected_s + MARGIN_S), function="tstzrange")


def hosts(run: Run) -> list[Host]:
    system = run.system
    return [system.driver, *([system.instance.host] if system.instance.host and not system.driven_locally else [])]


def resources(system: System) -> list[str]:
    """Return what must be free: driver and server host, their interference groups, and the instance itself."""
    both = [host for host in (system.driver, system.instance.host) if host]
    return sorted({*host_resources(both), f"instance:{system.instance_id}"})


def host_resources(hosts: Iterable[Host]) -> set[str]:
    """Return the names of hosts, and of the groups that they share hardware in."""
    rows = list(hosts)
    groups = {f"group:{host.interference_group_id}" for host in rows if host.interference_group_id}
    return {f"host:{host.pk}" for host in rows} | groups


def resource(kind: str, key: str) -> Concat:
    return Concat(Value(f"{kind}:"), Cast(OuterRef(key), CharField()))


def is_busy() -> Q:
    held = (Q(Exists(Hold.objects.filter(resource=resource(kind, key)))) for kind, key in NEEDS)
    return reduce(or_, held)
