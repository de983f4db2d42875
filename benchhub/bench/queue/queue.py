"""The queue: who may run next, who drives a run at the moment, and every move of a run's state.

All of it is rows and constraints: any number of workers may do this at once, be paused, or die at any line.
Times are the database's, never a worker's clock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import IntegrityError, InterfaceError, OperationalError, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from benchhub.analysis.words import count
from benchhub.bench.models import Attempt, Event, Experiment, Hold, Run, Watch
from benchhub.bench.models.states import ACTIVE, FINAL, State, may_move
from benchhub.bench.webhooks import notices
from benchhub.catalog.models.moments import has_passed, interval

from . import canary, exclusive, gates, promises, reserving, tenancies

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=settings.LEASE_SECONDS)
RESERVED_JUST_NOW = timedelta(seconds=5)
# The warehouse is away: that says nothing of the row at hand, and the next one would fare no better.
AWAY = (OperationalError, InterfaceError)


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
    if state in FINAL:
        notices.note_end(run)


# --- reserving -----------------------------------------------------------------------------------------------


def reserve(drivers: Sequence[int] | None = None) -> list[int]:
    """Reserve the next run of every driver that may start one now, or of these alone; returns their keys."""
    stop_failing()
    judge_canaries()
    tenancies.end()
    end_rests()
    runs = _next_of_each(gates.free_drivers() if drivers is None else drivers)
    keys = _reserve(runs)
    promises.renew()
    return keys


def end_rests() -> None:
    """Free the hosts whose rest after a run is over."""
    is_told = Q(rest_s__gt=0)  # a worker of the release before does not say how long it is
    is_over = Q(free_at__lte=Now()) | is_told & has_passed("free_at", interval(F("rest_s")))
    Hold.objects.filter(is_over, run=None, build=None).delete()


def _next_of_each(drivers: Sequence[int]) -> list[Run]:
    """Return each driver's next run in the order of the queue: of two that want one server the first gets it."""
    keys = gates.keys_of_next(drivers)
    return list(
        Run.objects.filter(pk__in=keys)
        .select_related("experiment", "system__driver", "system__instance__host")
        .next_first()
    )


def _reserve(runs: Sequence[Run]) -> list[int]:
    """End those that cannot start any more, and reserve the others; returns the keys of both.

    All together, in one transaction; if that fails, each in one of its own.
    """
    action, unprepared = "reserve a run of it", reserving.unprepared(runs)
    ending = [run for run in runs if run.cancel_asked_at or (run.pk in unprepared and _missing_data_set(run))]
    ended = [run.pk for run in ending if or_pause(run.experiment, partial(_end_unstarted, run), action)]
    others = [run for run in runs if run.pk not in {run.pk for run in ending}]
    try:
        with transaction.atomic():
            return ended + reserving.take(others)
    except AWAY:
        raise
    except Exception:
        logger.exception("Runs cannot be reserved together: each is tried alone")
    return ended + [run.pk for run in others if or_pause(run.experiment, partial(_reserve_alone, run), action)]


def _end_unstarted(run: Run, _: Experiment) -> bool:
    if run.cancel_asked_at:
        return _end_in_queue(run, State.CANCELLED, "Cancelled before it started.")
    reason = _missing_data_set(run)
    return bool(reason) and _fail_unprepared(run, reason)


def _reserve_alone(run: Run, _: Experiment) -> bool:
    try:
        with transaction.atomic():
            return bool(reserving.take([run]))
    except IntegrityError:
        return False  # another worker was first


def slept_over(run: Run) -> str:
    """Say what keeps a run from starting if it was reserved some time ago; its gates were open just before that."""
    is_old = Watch.objects.filter(run=run, next_look_at__lt=Now() - RESERVED_JUST_NOW).exists()
    return why_not_now(run) if is_old else ""


def why_not_now(run: Run) -> str:
    """Say what keeps a run from starting; empty for nothing. Held hosts do not count: the run itself may hold them."""
    if gates.is_open(run):
        return ""
    gated_run = gates.with_gates(Run.objects.select_related("system__driver", "system__instance__host")).get(pk=run.pk)
    return " ".join(gates.sentences(gated_run, without=gates.CONTENTION))


def _end_in_queue(run: Run, state: State, reason: str) -> bool:
    with transaction.atomic():
        row = Run.objects.select_for_update().filter(pk=run.pk, state=State.QUEUED).first()
        if row:
            move(row, state, reason)
    return bool(row)


def _fail_unprepared(run: Run, reason: str) -> bool:
    """Fail the run, and at once the later ones that lack the same; returns whether the run was still in the queue.

    One by one, each would keep its host idle until the next tick. Later runs stay where a policy may stop the
    experiment after any of them.
    """
    has_ended = _end_in_queue(run, State.FAILED, reason)
    if run.experiment.failure_policy == Experiment.FailurePolicy.CONTINUE:
        queued = Run.objects.queued().filter(experiment=run.experiment_id, system=run.system_id)
        for later_run in queued.filter(position__gt=run.position).order_by("position"):
            if reason := _missing_data_set(later_run):
                _end_in_queue(later_run, State.FAILED, reason)
    return has_ended


def fail_alike(run: Run, reason: str) -> None:
    """Fail what waits on the run's system, where each would end as the run did: by any policy it is tried once."""
    for later_run in run.experiment.runs.queued().filter(system=run.system_id).order_by("position"):
        _end_in_queue(later_run, State.FAILED, reason)


def _missing_data_set(run: Run) -> str:
    """Say that the load of the run's data set, or the warm-up after it, did not end well; empty where it may go."""
    if run.kind == Run.Kind.LOAD:
        return ""
    kinds = [Run.Kind.LOAD, *([Run.Kind.WARMUP] if run.kind == Run.Kind.MEASURE else [])]
    earlier = Run.objects.filter(experiment=run.experiment_id, system=run.system_id, position__lt=run.position)
    newest = earlier.filter(kind__in=kinds).order_by("kind", "-position").distinct("kind")
    for preparation in newest:
        if preparation.state in FINAL and preparation.state != State.SUCCEEDED:
            event = "data set was not loaded" if preparation.kind == Run.Kind.LOAD else "system was not warmed up"
            return f"Its {event} (run {preparation.pk} {preparation.state}): {preparation.reason}"
    return ""


# --- claiming ------------------------------------------------------------------------------------------------


def claim(limit: int, run_ids: Collection[int] = ()) -> list[Claim]:
    """Claim active runs that are due, or the named ones, unless somebody drives them at present; under new fences."""
    with transaction.atomic():
        due = Q(pk__in=run_ids) if run_ids else has_passed("next_look_at", LEASE)
        free = Q(lease_until=None) | has_passed("lease_until", LEASE)
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
    """Open a transaction that holds the run; raises StaleFenceError if this claim is no longer the newest."""
    with transaction.atomic():
        if not Watch.objects.select_for_update().filter(pk=claim.run_id, fence=claim.fence).exists():
            raise StaleFenceError(f"Run {claim.run_id}: fence {claim.fence} is old.")
        yield Run.objects.select_for_update().get(pk=claim.run_id)


def renew(claims: Iterable[Claim]) -> None:
    """Keep the leases of steps that take long, where half of one is over; a claim that is stale stays stale."""
    fences = {claim.run_id: claim.fence for claim in claims}
    is_ending = Q(lease_until__lt=Now() + LEASE / 2) | has_passed("lease_until", LEASE)
    ending = Watch.objects.filter(is_ending, pk__in=fences)
    for run_id, fence in ending.values_list("pk", "fence"):
        if fence == fences[run_id]:
            keep(Claim(run_id, fence))


def keep(claim: Claim, **observed: object) -> bool:
    """Go on with the run under the same claim; False, and nothing done, when it is stale."""
    watch = Watch.objects.filter(pk=claim.run_id, fence=claim.fence)
    return bool(watch.update(lease_until=Now() + LEASE, **observed))


def look_again(claim: Claim, after: timedelta, **observed: object) -> bool:
    """Give the run back until its next look, with what was seen; False, and nothing done, when the claim is stale."""
    watch = Watch.objects.filter(pk=claim.run_id, fence=claim.fence)
    return bool(watch.update(next_look_at=Now() + after, lease_until=None, **observed))


def finish(run: Run, claim: Claim, state: State, reason: str = "", least_rest_s: int = 0) -> None:
    """End the run inside the caller's transaction: the state, its open attempt, and its holds (after the rest).

    The rest is that of its experiment, and `least_rest_s` at least. A lost run goes back to the queue at once while
    its experiment's policy gives it another attempt.
    """
    move(run, state, reason, claim.fence)
    Attempt.objects.filter(run=run, ended_at=None).update(ended_at=Now(), outcome=state, reason=reason)
    _let_go(run)
    release(run, least_rest_s)
    if state == State.LOST and not run.cancel_asked_at:
        most = run.experiment.attempts_if_lost
        if (count := run.attempts.exclude(outcome=State.CANCELLED).count()) < most:  # those never began
            _queue_again(run, f"Attempt {count} of at most {most} was lost: it is run again.", claim.fence)


def give_back(run: Run, claim: Claim, reason: str) -> None:
    """Put a run of which nothing has begun back into the queue, inside the caller's transaction."""
    move(run, State.QUEUED, reason, claim.fence)
    Attempt.objects.filter(run=run, ended_at=None).update(ended_at=Now(), outcome=State.CANCELLED, reason=reason)
    _let_go(run)
    Hold.objects.filter(run=run).delete()


def go_back(run: Run, claim: Claim, reason: str) -> None:
    """Put a run whose load did not come about, as one that failed, back into the queue: as give_back()."""
    move(run, State.QUEUED, reason, claim.fence)
    Attempt.objects.filter(run=run, ended_at=None).update(ended_at=Now(), outcome=State.FAILED, reason=reason)
    Run.objects.filter(pk=run.pk).update(started_at=None)
    _let_go(run)
    Hold.objects.filter(run=run).delete()


def _let_go(run: Run) -> None:
    """Make every claim on the run stale: what a worker still knows of it is old from here on."""
    Watch.objects.filter(pk=run.pk).update(
        lease_until=None, fence=F("fence") + 1, live_tps=None, step="", contact_error="", unreachable_since=None
    )


def release(run: Run, least_rest_s: int = 0, *, without: str = "") -> None:
    """Free what the run holds, after its rest; all but the resource `without`, where one is named."""
    holds = Hold.objects.filter(run=run).exclude(resource=without)
    if rest_s := max(run.experiment.rest_s, least_rest_s):
        holds.update(run=None, rest_s=rest_s, free_at=Now() + timedelta(seconds=rest_s))
    else:
        holds.delete()


# --- what people and policies ask ----------------------------------------------------------------------------


@transaction.atomic
def ask_to_cancel(runs: models.QuerySet[Run], reason: str = "Cancelled before it started.") -> int:
    """Ask that runs end: those in the queue at once, those under way when a worker has stopped them on the host.

    Whatever a worker waits for with them just now, such as a host's answer, is given up: it may wait for long. Returns
    how many were asked anew.
    """
    unfinished = runs.exclude(state__in=FINAL)
    # In the order in which a worker locks them, whose answer may be written just now.
    list(Watch.objects.filter(run__in=unfinished.filter(state__in=ACTIVE)).order_by("pk").select_for_update())
    under_way = list(unfinished.filter(state__in=ACTIVE, cancel_asked_at=None).values_list("pk", flat=True))
    count = _cancel_queued(unfinished, reason)
    count += unfinished.filter(cancel_asked_at=None).update(cancel_asked_at=Now())
    Watch.objects.filter(run__in=unfinished.filter(state__in=ACTIVE)).update(next_look_at=Now())
    Watch.objects.filter(run__in=under_way).update(lease_until=None, fence=F("fence") + 1)
    return count


def _cancel_queued(runs: models.QuerySet[Run], reason: str) -> int:
    """End those still in the queue, with notices if anybody wants them; returns how many nobody had asked before."""
    with transaction.atomic():
        rows = runs.filter(state=State.QUEUED).select_for_update(of=("self",))
        asked_at = dict(rows.values_list("pk", "cancel_asked_at"))
        queued = Run.objects.filter(pk__in=asked_at)
        Event.objects.bulk_create(
            Event(run_id=key, old_state=State.QUEUED, new_state=State.CANCELLED, reason=reason) for key in asked_at
        )
        queued.update(
            state=State.CANCELLED, reason=reason, ended_at=Now(), cancel_asked_at=Coalesce("cancel_asked_at", Now())
        )
        notices.note_ends(queued)
    return sum(at is None for at in asked_at.values())


def stop_failing() -> None:
    """Pause the experiments of which too many runs have failed, or cancel what still waits of them."""
    for experiment in Experiment.objects.tripped():
        or_pause(experiment, _stop, "stop it as its policy asks")


def _stop(experiment: Experiment) -> None:
    failed = experiment.failures  # type: ignore[attr-defined]  # tripped() annotates it, which no type tells
    reason = f"{count(failed, 'run')} failed or lost, which is where its policy stops it."
    if experiment.failure_policy == Experiment.FailurePolicy.PAUSE:
        pause(experiment, reason)
    else:
        waiting = Run.objects.filter(experiment=experiment, state=State.QUEUED)
        ask_to_cancel(waiting, f"Cancelled with the rest of the experiment: {reason}")


def judge_canaries() -> None:
    """Let the experiments whose canary has ended go on, or pause them."""
    for experiment in canary.ended():
        or_pause(experiment, canary.judge, "judge its canary")


def or_pause(experiment: Experiment, step: Callable[[Experiment], int | None], action: str) -> int:
    """Do the step and return its count, or 0. If it fails, pause the experiment with the reason: others must go on."""
    try:
        return step(experiment) or 0
    except AWAY:
        raise
    except Exception as error:
        logger.exception("BenchHub could not %s: experiment %s", action, experiment.pk)
        pause(experiment, f"BenchHub could not {action}: {error!r}. To let it try again, resume it.")
        return 0


def pause(experiment: Experiment, reason: str) -> bool:
    """Let no further run of it start; what is under way goes on. False where it was paused, or resumed since."""
    unpaused = Experiment.objects.filter(pk=experiment.pk, paused_at=None, resumed_at=experiment.resumed_at)
    return bool(unpaused.update(paused_at=Now(), pause_reason=reason))


def resume(experiment: Experiment) -> bool:
    """Let its runs start again; failures until now no longer count for its policy."""
    paused = Experiment.objects.filter(pk=experiment.pk, paused_at__isnull=False)
    paused.filter(canary=Experiment.Canary.FAILED).update(canary=Experiment.Canary.WAIVED)
    return bool(paused.update(paused_at=None, pause_reason="", resumed_at=Now()))


@transaction.atomic
def run_again(runs: models.QuerySet[Run], reason: str = "To be run again, as a person asked.") -> int:
    """Queue the lost and failed runs once more, as new attempts, and return how many. Raises as claim_again()."""
    ended = list(runs.select_for_update(of=("self",)).filter(state__in=[State.LOST, State.FAILED]).order_by("pk"))
    exclusive.claim_again({run.experiment_id for run in ended})
    for run in ended:
        _queue_again(run, reason)
    return len(ended)


def run_lost_again(experiment: Experiment, attempts: int) -> int:
    """Queue the experiment's lost runs once more, as new attempts, as long as they had fewer than `attempts`."""
    began = ~Q(attempts__outcome=State.CANCELLED)
    counted = Run.objects.filter(experiment=experiment).annotate(number=models.Count("attempts", filter=began))
    lost = counted.filter(state=State.LOST)
    keys = list(lost.filter(number__lt=attempts).values_list("pk", flat=True))
    return run_again(Run.objects.filter(pk__in=keys), "To be run again: the attempt before was lost.")


def _queue_again(run: Run, reason: str, fence: int = 0) -> None:
    move(run, State.QUEUED, reason, fence)
    Run.objects.filter(pk=run.pk).update(cancel_asked_at=None, started_at=None, ended_at=None)
