"""Builds of PostgreSQL take their turn: as soon as nothing runs on their host, before what waits in the queue."""

from __future__ import annotations

from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from benchhub.bench.models import Hold, Reservation
from benchhub.bench.queue import exclusive, queue
from benchhub.catalog.models import Host, SourceBuild
from benchhub.catalog.models.moments import interval, may_visit

BUSY = "A run or another build is under way on its host, or on hardware that it shares: it begins when that has ended."
BLOCKED = "Its host is blocked at this time: it begins when that is over."
UNTRUSTED = "The key of its host is not approved: look at the key and approve it first."
# What a start and a removal of what was begun take beside the build itself.
LONGER = timedelta(minutes=5)


def take_turns() -> int:
    """Hold the hosts of builds that may begin, and say of the others why they wait; return how many begin."""
    # Before runs are reserved, which take a host as soon as its rest is over: builds would wait for the last of them.
    queue.end_rests()
    waiting = (
        SourceBuild.objects.filter(may_visit(), state=SourceBuild.State.WAITING).for_table().order_by("asked_at", "pk")
    )
    builds = list(waiting)
    deadline = timedelta(seconds=SourceBuild.DEADLINE_S)
    refusals = exclusive.visit_refusals((build.host for build in builds), deadline)
    return sum(_take_turn(build, refusals.get(build.host_id, "")) for build in builds)


def _take_turn(build: SourceBuild, refusal: str) -> bool:
    if not (reason := _reason(build.host) or refusal):
        try:
            with transaction.atomic():
                _hold(build)
            return True
        except IntegrityError:
            reason = BUSY
    rows = SourceBuild.objects.filter(pk=build.pk, state=SourceBuild.State.WAITING).exclude(contact_error=reason)
    rows.update(contact_error=reason)
    return False


def _reason(host: Host) -> str:
    """Say what keeps a build from beginning beside what is under way there; empty for nothing."""
    if host.trust != Host.Trust.PINNED:
        return UNTRUSTED
    if Reservation.objects.filter(host=host, period__contains=Now()).exists():
        return BLOCKED
    return ""


def _hold(build: SourceBuild) -> None:
    """Take the host for the build. Raises IntegrityError where something else has it."""
    rows = SourceBuild.objects.filter(pk=build.pk, state=SourceBuild.State.WAITING)
    if rows.update(state=SourceBuild.State.BUILDING, visit_until=None, contact_error=""):
        free_at = Now() + interval(SourceBuild.DEADLINE_S) + LONGER
        Hold.objects.bulk_create(Hold(resource=name, build=build, free_at=free_at) for name in _resources(build.host))


def _resources(host: Host) -> list[str]:
    """Return what a build holds, in the order in which runs take theirs: two that met half way would deadlock."""
    group = [f"group:{host.interference_group_id}"] if host.interference_group_id else []
    return sorted([f"host:{host.pk}", *group])
