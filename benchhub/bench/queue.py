"""The queue: who may run next, who drives a run at the moment, and every move of a run's state.

All of it is rows and constraints: any number of workers may do this at once, be paused, or die at any line.
Times are the database's, never a worker's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from .models import Attempt, Event, Experiment, Hold, Run, Watch
from .states import ACTIVE, FINAL, State, may_move

LEASE = timedelta(seconds=settings.LEASE_SECONDS)


class StaleFenceError(Exception):
    """Somebody else has claimed the run since: what this worker knows is old, and nothing was written."""


@dataclass(frozen=True, slots=True)
class Claim:
    run_id: int
    fence: int


def move(run: Run, state: State, reason: str = "", fence: int = 0) -> None:
    """Make one allowed move and record it; the caller's transaction holds both."""
    if not may_move(run.state, state):
        raise ValueError(f"Run {run.pk} may not move from {run.state} to {state}.")
    Event.objects.create(run=run, old_state=run.state, new_state=state, reason=reason, fence=fence)
    run.state, run.reason = state, reason
    stamps = {State.RUNNING: "started_at", **dict.fromkeys(FINAL, "ended_at")}
    fields: dict[str, object] = {"state": state, "reason": reason}
    if state in stamps:
        fields[stamps[state]] = Now()
    Run.objects.filter(pk=run.pk).update(**fields)


# --- reserving -----------------------------------------------------------------------------------------------


def resources(run: Run) -> list[str]:
    """What must be free: driver and server host, the groups they share hardware in, and the instance itself."""
    system = run.system
    hosts = [host for host in (system.driver, system.instance.host) if host]
    keys = {f"host:{host.pk}" for host in hosts} | {f"instance:{system.instance_id}"}
    keys |= {f"group:{host.interference_group_id}" for host in hosts if host.interference_group_id}
    return sorted(keys)


def reserve_ready() -> int:
    """Reserve the next queued run of every driver that is free; returns how many were reserved."""
    Hold.objects.filter(run=None, free_at__lte=Now()).delete()
    return sum(_reserve(run) for run in _next_of_each_driver())


def _next_of_each_driver() -> Iterable[Run]:
    held = Hold.objects.filter(resource__startswith="host:").values_list("resource", flat=True)
    busy = [int(resource.removeprefix("host:")) for resource in held]
    return (
        Run.objects.filter(state=State.QUEUED)
        .exclude(system__driver__in=busy)
        .select_related("system__driver", "system__instance__host")
        .order_by("system__driver", "-priority", "experiment", "position")
        .distinct("system__driver")
    )


def _reserve(run: Run) -> bool:
    if run.cancel_asked_at:
        return _end_in_queue(run, State.CANCELLED, "Cancelled before it started.")
    if reason := _missing_data_set(run):
        return _end_in_queue(run, State.FAILED, reason)
    try:
        with transaction.atomic():
            Hold.objects.bulk_create(Hold(resource=key, run=run) for key in resources(run))
            locked = Run.objects.select_for_update().get(pk=run.pk, state=State.QUEUED)
            move(locked, State.RESERVED)
            Watch.objects.update_or_create(
                run=locked, defaults={"next_look_at": Now(), "progress_offset": 0, "contact_error": ""}
            )
    except (IntegrityError, Run.DoesNotExist):
        return False  # another worker was first, or another driver's run holds the server
    return True


def _end_in_queue(run: Run, state: State, reason: str) -> bool:
    with transaction.atomic():
        locked = Run.objects.select_for_update().filter(pk=run.pk, state=State.QUEUED).first()
        if locked:
            move(locked, state, reason)
    return bool(locked)


def _missing_data_set(run: Run) -> str:
    """Why a measuring run cannot go: the load of its data set, planned before it, did not end well."""
    loads = Run.objects.filter(experiment=run.experiment_id, system=run.system_id, kind=Run.Kind.LOAD)
    load = loads.exclude(pk=run.pk).exclude(state=State.SUCCEEDED).first()
    if run.kind == Run.Kind.LOAD or load is None or load.state not in FINAL:
        return ""
    return f"Its data set was not loaded (run {load.pk} {load.state}): {load.reason}"


# --- claiming ------------------------------------------------------------------------------------------------


def claim(limit: int, run_ids: Iterable[int] = ()) -> list[Claim]:
    """Claim active runs that are due (or named) and that nobody drives at the moment, under a new fence."""
    with transaction.atomic():
        due = Q(next_look_at__lte=Now()) | Q(pk__in=list(run_ids))
        free = Q(lease_until=None) | Q(lease_until__lt=Now())
        watches = list(
            Watch.objects.select_for_update(skip_locked=True, of=("self",))
            .filter(due, free, run__state__in=ACTIVE)
            .order_by("next_look_at")[:limit]
        )
        Watch.objects.filter(pk__in=[watch.pk for watch in watches]).update(
            lease_until=Now() + LEASE, fence=F("fence") + 1
        )
    return [Claim(watch.pk, watch.fence + 1) for watch in watches]


@contextmanager
def fenced(claim: Claim) -> Iterator[Run]:
    """A transaction that holds the run, or StaleFenceError when this claim is no longer the newest."""
    with transaction.atomic():
        if not Watch.objects.select_for_update().filter(pk=claim.run_id, fence=claim.fence).exists():
            raise StaleFenceError(f"Run {claim.run_id}: fence {claim.fence} is old.")
        yield Run.objects.select_for_update().get(pk=claim.run_id)


def renew(claims: Iterable[Claim]) -> None:
    """Keep the leases of steps that take long; a claim that is stale stays stale."""
    for claim in claims:
        Watch.objects.filter(pk=claim.run_id, fence=claim.fence).update(lease_until=Now() + LEASE)


def look_again(claim: Claim, after: timedelta, **observed: object) -> None:
    """Give the run back until its next look, with what was seen; does nothing when the claim is stale."""
    Watch.objects.filter(pk=claim.run_id, fence=claim.fence).update(
        next_look_at=Now() + after, lease_until=None, **observed
    )


def finish(run: Run, claim: Claim, state: State, reason: str = "") -> None:
    """End the run inside the caller's transaction: the state, its open attempt, and its holds (after the rest)."""
    move(run, state, reason, claim.fence)
    Attempt.objects.filter(run=run, ended_at=None).update(ended_at=Now(), outcome=state, reason=reason)
    Watch.objects.filter(pk=run.pk).update(lease_until=None, live_tps=None, step="", contact_error="")
    release(run)


def release(run: Run) -> None:
    rest = timedelta(seconds=run.experiment.rest_s)
    if rest:
        Hold.objects.filter(run=run).update(run=None, free_at=Now() + rest)
    else:
        Hold.objects.filter(run=run).delete()


def ask_to_cancel(runs: models.QuerySet[Run]) -> int:
    """Ask that runs end: those in the queue at once, those under way when a worker has stopped them on the host."""
    unfinished = runs.exclude(state__in=FINAL)
    asked = unfinished.filter(cancel_asked_at=None).update(cancel_asked_at=Now())
    for run in unfinished.filter(state=State.QUEUED):
        _end_in_queue(run, State.CANCELLED, "Cancelled before it started.")
    Watch.objects.filter(run__in=unfinished.filter(state__in=ACTIVE)).update(next_look_at=Now())
    return asked


@transaction.atomic
def run_lost_again(experiment: Experiment, attempts: int) -> int:
    """Queue the experiment's lost runs once more, as new attempts, as long as they had fewer than `attempts`."""
    lost = Run.objects.select_for_update().filter(experiment=experiment, state=State.LOST)
    again = [run for run in lost if run.attempts.count() < attempts]
    for run in again:
        move(run, State.QUEUED, "To be run again: the attempt before was lost.")
    return len(again)
