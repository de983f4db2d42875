"""Drives runs: claims what is due, has the steps taken on the targets, and writes each answer as it arrives.

The steps (bench/steps.py) run on the process's event loop with plain data; the writes are made here, fenced, on the
worker's own thread. No transaction is open across SSH. Whatever is interrupted is found again by the next tick of any
worker.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Max
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from benchhub.catalog.models import Host
from runners import job, probe
from runners.ssh import HostKeyChanged, RemoteFailure, Target, Unreachable

from . import ingest, live_log, loop, plan, queue, steps, visits
from .models import Attempt, Run
from .states import State
from .steps import Answer, Cancelled, Ended, Job, Looked, Started, Wake, Withdrawn
from .visits import folders_of, target_of

logger = logging.getLogger(__name__)

BATCH = 50
RENEW_S = 15  # leases are renewed while a step takes long, well before they end
FACTS_LAST = timedelta(hours=1)
LOOK_EVERY = timedelta(seconds=10)
RETRY_AFTER = timedelta(seconds=15)
CONTACT: dict[str, Any] = {"last_contact_at": Now(), "unreachable_since": None}
SIGNALLED = 128  # a shell's exit codes above this one tell of a signal


# --- the tick ------------------------------------------------------------------------------------------------


def tick(wake: Wake, run_ids: Iterable[int] = ()) -> int:
    """Advance everything that can be advanced now; returns the number of steps taken. Never waits for a load."""
    taken_in_all = 0
    while taken := _advance(wake, run_ids):
        taken_in_all += taken
        run_ids = ()
    return taken_in_all


def _advance(wake: Wake, run_ids: Iterable[int]) -> int:
    queue.reserve_ready()
    jobs = [job_ for claim in queue.claim(BATCH, run_ids) if (job_ := _prepare(claim))]
    pending = {loop.submit(steps.step(job_)): job_ for job_ in jobs}
    while pending:
        done, _ = wait(pending, timeout=RENEW_S, return_when=FIRST_COMPLETED)
        for future in done:
            _settle(pending.pop(future), future, wake)
        queue.renew(job_.claim for job_ in pending.values())
    return len(jobs)


def _prepare(claim: queue.Claim) -> Job | None:
    """Commit what must be true before the target is spoken to, and gather plain data; None where nothing is to do."""
    try:
        with queue.fenced(claim) as run:
            too_late = queue.why_not_now(run) if run.state == State.STARTING else ""
            if run.state == State.RESERVED and not _enter_starting(run, claim):
                return None
            if reason := _untrusted_host(run):
                queue.look_again(claim, RETRY_AFTER, contact_error=reason)
                return None
            return _job(run, claim, too_late)
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


def _untrusted_host(run: Run) -> str:
    """Why nothing is sent, not even a look; the run stays as it is until a person has decided."""
    for host in _hosts(run):
        if host.trust != Host.Trust.PINNED:
            return (
                f"Nothing is sent to {host.name}: its host key has changed. Compare and approve it on the host's page."
            )
    return ""


def _hosts(run: Run) -> list[Host]:
    system = run.system
    other = [] if system.instance.host is None or system.driven_locally else [system.instance.host]
    return [system.driver, *other]


def _job(run: Run, claim: queue.Claim, too_late: str) -> Job:
    watch, hosts, attempt = run.watch, _hosts(run), run.attempts.latest("number")
    return Job(
        claim=claim,
        state=run.state,
        target=target_of(hosts[0]),
        server=target_of(hosts[1]) if len(hosts) > 1 else None,
        attempt=_attempt_on_target(run, attempt.number),
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
    """Hosts whose facts are too old to be called those of the run."""
    oldest = timezone.now() - FACTS_LAST
    stale = (host for host in hosts if host.facts_at is None or host.facts_at < oldest)
    return {host.pk: (target_of(host), folders_of(host)) for host in stale}


def _attempt_on_target(run: Run, number: int) -> job.Attempt:
    return job.Attempt(run=str(run.uuid), number=number, work_directory=run.system.driver.work_directory)


# --- on the worker's thread: each answer, written under the claim's fence ------------------------------------


def _settle(job_: Job, future: Future[Answer], wake: Wake) -> None:
    try:
        answer = future.result()
        _write(job_, answer, wake)
    except queue.StaleFenceError as error:
        logger.warning("%s Its answer was dropped.", error)
    except HostKeyChanged as error:
        _quarantine(job_, error)
    except RemoteFailure as error:
        _refused(job_, str(error))
    except (Unreachable, TimeoutError) as error:
        _unreached(job_, error)
    except Exception as error:  # one run's trouble must not keep the others of the batch waiting
        logger.exception("A step of run %s failed", job_.claim.run_id)
        queue.look_again(job_.claim, RETRY_AFTER, contact_error=f"BenchHub failed at this step: {error!r}.")


def _write(job_: Job, answer: Answer, wake: Wake) -> None:
    if isinstance(answer, Started):
        _write_started(job_, answer, wake)
    elif isinstance(answer, Ended):
        _write_ended(job_, answer)
    elif isinstance(answer, Looked):
        _write_look(job_, answer, wake)
    else:
        _write_stopped(job_, answer)
    _note_contact(job_, answer)


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
    if queue.look_again(job_.claim, RETRY_AFTER, contact_error=sentence, unreachable_since=since):
        visits.note_unreached([key for key, target in job_.hosts.items() if target == place], sentence)


def _write_started(job_: Job, answer: Started, wake: Wake) -> None:
    with queue.fenced(job_.claim) as run:
        for host, facts in answer.facts.items():
            Host.objects.filter(pk=host).update(facts=facts, facts_at=Now())
        if answer.outcome is job.StartOutcome.TOMBSTONED:
            queue.finish(run, job_.claim, State.CANCELLED, "Its attempt was cancelled on the host.")
            return
        if answer.outcome is job.StartOutcome.BUSY:
            reason = "Another job still runs on the host; the run starts when it has ended."
            queue.look_again(job_.claim, RETRY_AFTER, **CONTACT, contact_error=reason)
            return
        Attempt.objects.filter(run=run, ended_at=None).update(host_before=answer.host_before)
        queue.move(run, State.RUNNING, fence=job_.claim.fence)
        after = min(LOOK_EVERY, timedelta(seconds=job_.expected_s + 5))
        queue.look_again(job_.claim, after, **CONTACT, contact_error="")
    loop.submit(steps.wait_for_end(job_, wake))


def _write_look(job_: Job, looked: Looked, wake: Wake) -> None:
    look, fate = looked.look, looked.verdict.state
    with queue.fenced(job_.claim) as run:
        Attempt.objects.filter(run=run, ended_at=None, boot_id="").update(boot_id=look.boot_id)
        if fate == "finished":
            _enter_collecting(run, job_.claim)
        elif fate in ("lost", "absent"):
            queue.finish(run, job_.claim, State.LOST, looked.verdict.reason)
            return
        live_log.keep(run, "err", look.err_from, look.chunk)
        live_log.keep(run, "out", look.out_from, look.out_chunk)
        queue.look_again(
            job_.claim,
            timedelta(0) if fate == "finished" else LOOK_EVERY,
            **CONTACT,
            contact_error="",
            step=look.step,
            progress_offset=look.err_from + len(look.chunk),
            out_offset=look.out_from + len(look.out_chunk),
            **steps.live_tps(look.chunk),
        )
    if fate == "running":
        loop.submit(steps.wait_for_end(job_, wake))


def _enter_collecting(run: Run, claim: queue.Claim) -> None:
    if run.state == State.STARTING:
        queue.move(run, State.RUNNING, "It had begun before it was cancelled.", claim.fence)
    queue.move(run, State.COLLECTING, fence=claim.fence)


def _write_ended(job_: Job, ended: Ended) -> None:
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
    _acknowledge(job_)


def _store(run: Run, attempt: Attempt, job_: Job, ended: Ended) -> tuple[State, str]:
    remarks = list(ended.collected.remarks.values())
    try:
        with transaction.atomic():
            observed = _observed(run, job_, ended)
            return ingest.store(run, attempt, ended.collected.outputs, observed, remarks)
    except (LookupError, ValueError, TypeError, ArithmeticError) as error:
        logger.exception("The outputs of run %s cannot be read", run.pk)
        reason = f"What the run left behind cannot be read ({error!r}); its evidence is kept as it came."
        return State.FAILED, " ".join([reason, *remarks])


def _acknowledge(job_: Job) -> None:
    """Let the target clean up, now that the warehouse has the evidence; the next run must not meet this work."""
    try:
        loop.submit(steps.acknowledge(job_)).result(timeout=30)
    except (Unreachable, RemoteFailure, HostKeyChanged, TimeoutError) as error:
        logger.warning("Run %s is stored, but its folder on the host stays: %s", job_.claim.run_id, error)


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
