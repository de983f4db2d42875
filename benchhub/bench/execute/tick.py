"""Drives runs: claims what is due, has the steps taken on the targets, and writes each answer as it arrives.

The steps (bench/steps.py) run on the process's event loop with plain data; the writes are made here, fenced, on the
worker's own thread. No transaction is open across SSH. Whatever is interrupted is found again by the next tick of any
worker.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

from django.db import DataError, IntegrityError, transaction
from django.db.models import F, Max, Q
from django.db.models.functions import Coalesce, Now

from benchhub.bench.models import Attempt, Run
from benchhub.bench.models.states import ACTIVE, State
from benchhub.bench.plan import growth, plan
from benchhub.bench.queue import queue
from benchhub.bench.results import ingest, live_log
from benchhub.catalog.models import Host
from runners import job, probe, tools
from runners.ssh import HostKeyChanged, RemoteFailure, Target, Unreachable

from . import looks, loop, steps, visits, workers
from .steps import Acknowledged, Answer, Cancelled, Ended, Job, Looked, Started, Wake, Withdrawn
from .visits import folders_of, target_of

logger = logging.getLogger(__name__)

BATCH = 200
FEW, GATHER_S = 8, 0.05
RENEW_S = queue.LEASE.total_seconds() / 4  # leases are renewed while a step takes long, well before they end
FACTS_LAST = timedelta(hours=1)
LOOK_EVERY = queue.LEASE / 6
RETRY_AFTER = queue.LEASE / 4
# What fails once is mostly over soon, and a host that could be at work stands idle until then.
FIRST_RETRY_AFTER = min(timedelta(seconds=2), RETRY_AFTER)
CONTACT: dict[str, Any] = {"last_contact_at": Now(), "unreachable_since": None}
BUSY = "Another job still runs on the host; the run starts when it has ended."
# What the warehouse raises where it refuses what was read.
UNFIT = (DataError, IntegrityError)
SIGNALLED = 128  # a shell's exit codes above this one tell of a signal


# --- the tick ------------------------------------------------------------------------------------------------


def tick(wake: Wake, run_ids: Iterable[int] = ()) -> int:
    """Advance the named runs, or all that are due, and start what may; returns the number of steps taken.

    Never waits for a load. Named runs do not wait for the looks at others: theirs is a host that stands idle.
    """
    selected_ids = list(run_ids)
    if not selected_ids:
        looks.note_signs(steps.signs(LOOK_EVERY.total_seconds()), LOOK_EVERY)
    followed = _follow(wake, selected_ids or growth.reserve())
    while not selected_ids and (jobs := _round(wake)):
        followed += len(jobs)
        if _has_ended(jobs):
            followed += _follow(wake, growth.reserve())
    return followed


def _follow(wake: Wake, run_ids: Sequence[int]) -> int:
    """Advance these runs, and then those that take the place of what has ended, one after the other."""
    followed = 0
    while run_ids and (jobs := _round(wake, run_ids)):
        followed += len(jobs)
        run_ids = growth.reserve() if _has_ended(jobs) else ()
    return followed


def _round(wake: Wake, run_ids: Sequence[int] = ()) -> list[Job]:
    jobs = _prepared(queue.claim(BATCH, run_ids))
    _advance(jobs, wake)
    return jobs


def _advance(jobs: Iterable[Job], wake: Wake) -> None:
    pending, renewed_s = {loop.submit(steps.step(job_)): job_ for job_ in jobs}, time.monotonic()
    while pending:
        for job_ in _settle_all({future: pending.pop(future) for future in _done(pending)}, wake):
            pending[loop.submit(steps.step(job_))] = job_
        if time.monotonic() - renewed_s > RENEW_S / 2:
            queue.renew(job_.claim for job_ in pending.values())
            renewed_s = time.monotonic()


def _done(pending: Mapping[Future[Answer], Job]) -> list[Future[Answer]]:
    """Those that have arrived, at most a moment after the first of them: many answers are written together."""
    wait(pending, timeout=RENEW_S / 2, return_when=FIRST_COMPLETED)
    if len(pending) > FEW:
        time.sleep(GATHER_S)
    return [future for future in pending if future.done()]


def _has_ended(jobs: Iterable[Job]) -> bool:
    """Whether a run has let go of its hosts, so that the next one may have them."""
    keys = [job_.claim.run_id for job_ in jobs]
    return Run.objects.filter(pk__in=keys).exclude(state__in=ACTIVE).exists()


def _prepared(claims: Sequence[queue.Claim]) -> list[Job]:
    """Looks are prepared together; before anything else is said to a target something may have to be committed."""
    running = {run.pk: run for run in looks.under_way(claims) if looks.opened(run)}
    return [job_ for claim in claims if (job_ := _fenced(claim, running.get(claim.run_id)))]


def _fenced(claim: queue.Claim, running: Run | None) -> Job | None:
    try:
        return _looking(running, claim) if running else _prepare(claim)
    except Exception as error:  # one run's trouble must not keep the others of the batch waiting
        logger.exception("A step of run %s cannot be prepared", claim.run_id)
        _try_later(claim, error)
        return None


def _try_later(claim: queue.Claim, error: Exception) -> None:
    queue.look_again(claim, RETRY_AFTER, contact_error=f"BenchHub failed at this step: {error!r}.")


def _looking(run: Run, claim: queue.Claim) -> Job | None:
    [attempt] = looks.opened(run)
    return None if _stays_away(run, claim) else _job(run, claim, attempt)


def _prepare(claim: queue.Claim) -> Job | None:
    """Commit what must be true before the target is spoken to, and gather plain data; None where nothing is to do."""
    try:
        with queue.fenced(claim) as run:
            too_late = queue.why_not_now(run) if run.state == State.STARTING else ""
            if run.state == State.RESERVED and not _enter_starting(run, claim):
                return None
            if _stays_away(run, claim):
                return None
            return _job(run, claim, run.attempts.latest("number"), too_late)
    except queue.StaleFenceError:
        return None


def _enter_starting(run: Run, claim: queue.Claim) -> bool:
    if run.cancel_asked_at:
        queue.finish(run, claim, State.CANCELLED, "Cancelled before it started.")
        return False
    if reason := queue.slept_over(run):
        queue.give_back(run, claim, reason)
        return False
    number = (run.attempts.aggregate(last=Max("number"))["last"] or 0) + 1
    Attempt.objects.create(run=run, number=number)
    queue.move(run, State.STARTING, fence=claim.fence)
    return True


def _stays_away(run: Run, claim: queue.Claim) -> bool:
    """To a host whose key changed nothing is sent, not even a look; the run stays as it is until a person decides."""
    for host in _hosts(run):
        if host.trust != Host.Trust.PINNED:
            what_to_do = "its host key has changed. Compare and approve it on the host's page."
            queue.look_again(claim, RETRY_AFTER, contact_error=f"Nothing is sent to {host.name}: {what_to_do}")
            return True
    return False


def _hosts(run: Run) -> list[Host]:
    system = run.system
    other = [] if system.instance.host is None or system.driven_locally else [system.instance.host]
    return [system.driver, *other]


def _job(run: Run, claim: queue.Claim, attempt: Attempt, too_late: str = "") -> Job:
    watch, hosts = run.watch, _hosts(run)
    return Job(
        claim=claim,
        state=run.state,
        target=target_of(hosts[0]),
        server=target_of(hosts[1]) if len(hosts) > 1 else None,
        attempt=job.Attempt(str(run.uuid), attempt.number, hosts[0].work_directory),
        spec=plan.spec_of(run),
        password=run.system.instance.password or None,
        expected_s=run.expected_s,
        offset=watch.progress_offset,
        out_offset=watch.out_offset,
        boot_id=attempt.boot_id,
        cancel_asked=run.cancel_asked_at is not None,
        host_before=attempt.host_before,
        to_probe=_stale_hosts(hosts) if run.state == State.STARTING else {},
        hosts={host.pk: target_of(host) for host in hosts},
        away=frozenset(host.pk for host in hosts if host.unreachable_since),
        too_late=too_late,
    )


def _stale_hosts(hosts: Iterable[Host]) -> dict[int, tuple[Target, list[str]]]:
    """Hosts whose facts are too old, by the warehouse's clock, to be called those of the run."""
    too_old = Q(facts_at=None) | Q(facts_at__lt=Now() - FACTS_LAST)
    stale = Host.objects.filter(too_old, pk__in=[host.pk for host in hosts])
    return {host.pk: (target_of(host), folders_of(host)) for host in stale}


# --- on the worker's thread: each answer, written under the claim's fence ------------------------------------


def _settle_all(done: Mapping[Future[Answer], Job], wake: Wake) -> list[Job]:
    """Write what has arrived; returns what is to be done next under the same claims."""
    quiet = {future: job_ for future, job_ in done.items() if looks.is_quiet(job_, future)}
    looks.write([(job_, cast(Looked, future.result())) for future, job_ in quiet.items()], LOOK_EVERY)
    for job_ in quiet.values():
        steps.watch(job_, wake)
    others = (_settle(job_, future, wake) for future, job_ in done.items() if future not in quiet)
    return [job_ for job_ in others if job_]


def _settle(job_: Job, future: Future[Answer], wake: Wake) -> Job | None:
    try:
        return _write(job_, future.result(), wake)
    except queue.StaleFenceError as error:
        logger.warning("%s Its answer was dropped.", error)
    except (HostKeyChanged, RemoteFailure, Unreachable, TimeoutError) as error:
        workers.count_ssh_error()
        _not_done(job_, error)
    except Exception as error:  # as above
        logger.exception("A step of run %s failed", job_.claim.run_id)
        _try_later(job_.claim, error)
    return None


def _not_done(job_: Job, error: HostKeyChanged | RemoteFailure | Unreachable | TimeoutError) -> None:
    if isinstance(error, HostKeyChanged):
        _quarantine(job_, error)
    elif isinstance(error, RemoteFailure):
        _refused(job_, str(error))
    else:
        _unreached(job_, error)


def _write(job_: Job, answer: Answer, wake: Wake) -> Job | None:
    following = None
    if isinstance(answer, Started):
        _write_started(job_, answer, wake)
    elif isinstance(answer, Ended):
        following = _write_ended(job_, answer)
    elif isinstance(answer, Acknowledged):
        Attempt.objects.filter(run=job_.claim.run_id, number=job_.attempt.number).update(acknowledged_at=Now())
    elif isinstance(answer, Looked):
        following = _write_look(job_, answer, wake)
    else:
        _write_stopped(job_, answer)
    _note_contact(job_, answer)
    return following


def _write_stopped(job_: Job, answer: Cancelled | Withdrawn) -> None:
    with queue.fenced(job_.claim) as run:
        if isinstance(answer, Cancelled) or run.cancel_asked_at:
            queue.finish(run, job_.claim, State.CANCELLED, "Cancelled.")
        else:
            queue.give_back(run, job_.claim, job_.too_late)


def _note_contact(job_: Job, answer: Answer) -> None:
    """The driver has answered; at a run's start and end the server's host has as well."""
    both = isinstance(answer, Started | Ended)
    answered = set(job_.hosts) if both else {key for key, target in job_.hosts.items() if target == job_.target}
    if back := answered & job_.away:
        visits.note_reached(back)


def _unreached(job_: Job, error: Unreachable | TimeoutError) -> None:
    """Says nothing about the job: the run stays as it is, and it is noted since when."""
    sentence = str(error) or "The host did not answer in time."
    since = Coalesce(F("unreachable_since"), Now())
    place = getattr(error, "target", None) or job_.target
    after = RETRY_AFTER if job_.away else FIRST_RETRY_AFTER
    if queue.look_again(job_.claim, after, contact_error=sentence, unreachable_since=since):
        visits.note_unreached([key for key, target in job_.hosts.items() if target == place], sentence)


def _write_started(job_: Job, answer: Started, wake: Wake) -> None:
    with queue.fenced(job_.claim) as run:
        for host, facts in answer.facts.items():
            Host.objects.filter(pk=host).update(facts=facts, facts_at=Now())
        if answer.outcome is job.StartOutcome.TOMBSTONED:
            queue.finish(run, job_.claim, State.CANCELLED, "Its attempt was cancelled on the host.")
            return
        if answer.outcome is job.StartOutcome.BUSY:
            after = RETRY_AFTER if run.watch.contact_error == BUSY else FIRST_RETRY_AFTER
            queue.look_again(job_.claim, after, **CONTACT, contact_error=BUSY)
            return
        Attempt.objects.filter(run=run, ended_at=None).update(host_before=answer.host_before)
        queue.move(run, State.RUNNING, fence=job_.claim.fence)
        after = min(LOOK_EVERY, timedelta(seconds=job_.expected_s + 5))
        queue.look_again(job_.claim, after, **CONTACT, contact_error="")
    steps.watch(job_, wake)


def _write_look(job_: Job, looked: Looked, wake: Wake) -> Job | None:
    """Returns the collection, under the same claim, where the job has finished."""
    look, fate = looked.look, looked.verdict.state
    with queue.fenced(job_.claim) as run:
        Attempt.objects.filter(run=run, ended_at=None, boot_id="").update(boot_id=look.boot_id)
        if fate == "finished":
            _enter_collecting(run, job_.claim)
        elif fate in ("lost", "absent"):
            queue.finish(run, job_.claim, State.LOST, looked.verdict.reason)
            return None
        live_log.keep(run, "err", look.err_from, look.chunk)
        live_log.keep(run, "out", look.out_from, look.out_chunk)
        observed: dict[str, Any] = {
            **CONTACT,
            "contact_error": "",
            "step": look.step,
            "progress_offset": look.err_from + len(look.chunk),
            "out_offset": look.out_from + len(look.out_chunk),
            **steps.live_tps(look.chunk),
        }
        if fate == "finished":
            queue.keep(job_.claim, **observed)
            return replace(job_, state=State.COLLECTING)
        queue.look_again(job_.claim, LOOK_EVERY, **observed)
    steps.watch(job_, wake)
    return None


def _enter_collecting(run: Run, claim: queue.Claim) -> None:
    if run.state == State.STARTING:
        queue.move(run, State.RUNNING, "It had begun before it was cancelled.", claim.fence)
    queue.move(run, State.COLLECTING, fence=claim.fence)


def _write_ended(job_: Job, ended: Ended) -> Job:
    """Store the evidence whatever it says, then what it means; outputs that nobody can read fail the run."""
    outputs = ended.collected.outputs
    with queue.fenced(job_.claim) as run:
        attempt = run.attempts.latest("number")
        Attempt.objects.filter(pk=attempt.pk).update(returncode=outputs.returncode)
        ingest.keep_evidence(attempt, outputs, ended.collected.manifest, ended.collected.remarks)
        attempt.live_logs.all().delete()
        if run.cancel_asked_at and outputs.returncode > SIGNALLED:
            state, reason = State.CANCELLED, "Cancelled while it ran."
        else:
            state, reason = _store(run, attempt, job_, ended)
        queue.finish(run, job_.claim, state, reason)
    return replace(job_, state=state)  # to be acknowledged: a step of its own, so that no other end waits for it


def _store(run: Run, attempt: Attempt, job_: Job, ended: Ended) -> tuple[State, str]:
    remarks = list(ended.collected.remarks.values())
    try:
        with transaction.atomic():
            observed = _observed(run, job_, ended)
            return ingest.store(run, attempt, ended.collected.outputs, observed, remarks)
    except (*tools.UNREADABLE, *UNFIT) as error:
        logger.exception("The outputs of run %s cannot be read", run.pk)
        reason = f"What the run left behind cannot be read ({error!r}); its evidence is kept as it came."
        return State.FAILED, " ".join([reason, *remarks])


def _refused(job_: Job, reason: str) -> None:
    """The host answered with an error: a start has failed for good, anything else is looked at again."""
    if job_.state != State.STARTING:
        queue.look_again(job_.claim, RETRY_AFTER, **CONTACT, contact_error=reason)
        return
    with queue.fenced(job_.claim) as run:
        queue.finish(run, job_.claim, State.FAILED, f"The job could not be started. {reason}")


def _quarantine(job_: Job, error: HostKeyChanged) -> None:
    """Nothing more is sent to a host whose key changed; its run stays as it is until a person has decided."""
    visits.quarantine([key for key, target in job_.hosts.items() if target == error.target], error)
    queue.look_again(job_.claim, RETRY_AFTER, contact_error=str(error))


def _observed(run: Run, job_: Job, ended: Ended) -> ingest.Observed:
    """What was counted around the run; the host facts are those of the last probe, which stands beside it."""
    counted = steps.counted(job_, ended)
    hosts = {host.name: _facts_of(host, job_.spec.bin_directory) for host in _hosts(run)}
    return ingest.Observed(
        settings=counted.settings,
        server=counted.server,
        host=hosts,
        stable_facts={
            "server": str(counted.server.get("version", "")),
            "hosts": {name: probe.facts_digest_input(facts) for name, facts in hosts.items()},
            "settings": {name: str(row["setting"]) for name, row in counted.settings.items()},
        },
        deltas=counted.deltas,
        restarted=bool(counted.deltas.get("restarted")),
    )


def _facts_of(host: Host, bin_directory: str) -> dict[str, Any]:
    """What the last probe found, of the builds there only the one that drove the run."""
    facts = {name: value for name, value in host.facts.items() if name != "builds"}
    used = [build for build in host.facts.get("builds", ()) if build["bin_directory"] == bin_directory]
    return {**facts, "client_build": used[0]} if used else facts
