"""Drives runs on their targets. The only module that imports the half of the runners that touches a host.

A tick claims what is due, speaks to the targets on the process's event loop with plain data, and writes each
answer, fenced, from its own thread as it arrives. No transaction is open across SSH. Whatever is interrupted
here is found again by the next tick of any worker: every step on the target may be asked for twice.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, as_completed, wait
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Max, Q
from django.db.models.functions import Now
from django.utils import timezone

from benchhub.catalog.models import Host
from runners import job, probe, telemetry
from runners.contract import RunSpec
from runners.script import AFTER_FILE, BEFORE_FILE
from runners.ssh import Connections, HostKeyChanged, RemoteFailure, Target, Unreachable, offered_host_key

from . import ingest, loop, plan, queue
from .models import Attempt, Run
from .states import State

logger = logging.getLogger(__name__)

BATCH = 50
RENEW_S = 15  # leases are renewed while a step takes long, well before they end
STEP_TIMEOUT_S = 900
SECOND_LOOK_S = 0.5
PROBE_TIMEOUT_S = 120
FACTS_LAST = timedelta(hours=1)
VISIT_LEASE = timedelta(seconds=150)
LOOK_EVERY = timedelta(seconds=10)
RETRY_AFTER = timedelta(seconds=15)
SIGNALLED = 128  # a shell's exit codes above this one tell of a signal
COLLECT_CAP_BYTES = 64 * 1024 * 1024
LIVE_TPS = re.compile(rb"progress: .*? ([0-9.]+) tps")

Wake = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Job:
    """All that a step on the target needs to know, as plain data."""

    claim: queue.Claim
    state: str
    target: Target
    server: Target | None
    attempt: job.Attempt
    spec: RunSpec
    password: str | None
    expected_s: int
    offset: int
    boot_id: str
    cancel_asked: bool
    host_before: Mapping[str, Any] | None
    to_probe: Mapping[int, tuple[Target, list[str]]]


@dataclass(frozen=True, slots=True)
class Started:
    """`facts` are those of hosts that were probed again before the start, by the host's key."""

    outcome: job.StartOutcome
    facts: Mapping[int, Mapping[str, Any]]
    host_before: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The job's end as seen on the target, with everything it left."""

    collected: job.Collected
    host_after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Looked:
    look: job.Look
    verdict: job.Verdict


@dataclass(frozen=True, slots=True)
class Cancelled:
    pass


Answer = Started | Looked | Ended | Cancelled


# --- the tick ------------------------------------------------------------------------------------------------


def tick(wake: Wake, run_ids: Iterable[int] = ()) -> int:
    """Advance everything that can be advanced now; returns the number of steps taken. Never waits for a load."""
    steps = 0
    while taken := _advance(wake, run_ids):
        steps += taken
        run_ids = ()
    return steps


def _advance(wake: Wake, run_ids: Iterable[int]) -> int:
    queue.reserve_ready()
    jobs = [job_ for claim in queue.claim(BATCH, run_ids) if (job_ := _prepare(claim))]
    pending = {loop.submit(_step(job_)): job_ for job_ in jobs}
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
            if run.state == State.RESERVED and not _enter_starting(run, claim):
                return None
            return _job(run, claim)
    except queue.StaleFenceError:
        return None


def _enter_starting(run: Run, claim: queue.Claim) -> bool:
    if run.cancel_asked_at:
        queue.finish(run, claim, State.CANCELLED, "Cancelled before it started.")
        return False
    if reason := _untrusted_host(run):
        queue.finish(run, claim, State.FAILED, reason)
        return False
    number = (run.attempts.aggregate(last=Max("number"))["last"] or 0) + 1
    Attempt.objects.create(run=run, number=number)
    queue.move(run, State.STARTING, fence=claim.fence)
    return True


def _untrusted_host(run: Run) -> str:
    for host in _hosts(run):
        if host.trust != Host.Trust.PINNED:
            return f"The host key of {host.name} is {host.get_trust_display()}: approve it on the host's page first."
    return ""


def _hosts(run: Run) -> list[Host]:
    system = run.system
    other = [] if system.instance.host is None or system.driven_locally else [system.instance.host]
    return [system.driver, *other]


def _job(run: Run, claim: queue.Claim) -> Job:
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
        boot_id=attempt.boot_id,
        cancel_asked=run.cancel_asked_at is not None,
        host_before=attempt.host_before,
        to_probe=_stale_hosts(hosts) if run.state == State.STARTING else {},
    )


def _stale_hosts(hosts: Iterable[Host]) -> dict[int, tuple[Target, list[str]]]:
    """Hosts whose facts are too old to be called those of the run."""
    oldest = timezone.now() - FACTS_LAST
    stale = (host for host in hosts if host.facts_at is None or host.facts_at < oldest)
    return {host.pk: (target_of(host), _folders(host)) for host in stale}


def _attempt_on_target(run: Run, number: int) -> job.Attempt:
    return job.Attempt(run=str(run.uuid), number=number, work_directory=run.system.driver.work_directory)


def target_of(host: Host) -> Target:
    return Target(
        address=host.address,
        port=host.port,
        username=host.username,
        private_key=host.private_key,
        host_key=host.host_key,
    )


# --- on the loop's thread: plain data and SSH, no ORM --------------------------------------------------------

_kept: list[Connections] = []
_watched: set[int] = set()


def _connections() -> Connections:
    if not _kept:
        _kept.append(Connections())
    return _kept[0]


async def _step(job_: Job) -> Answer:
    async with asyncio.timeout(STEP_TIMEOUT_S):
        if job_.cancel_asked and job_.state != State.COLLECTING:
            return await _cancel(job_)
        if job_.state == State.STARTING:
            return await _start(job_)
        if job_.state == State.COLLECTING:
            return await _collect(job_)
        return await _look(job_)


async def _look(job_: Job) -> Looked:
    """Look once, and once more where the first look suggests that the job was lost: it may have been between lines."""
    look = await job.look(_connections(), job_.target, job_.attempt, offset=job_.offset)
    verdict = job.verdict(look, suspected=False, boot_id_at_start=job_.boot_id or None)
    if verdict.suspected:
        await asyncio.sleep(SECOND_LOOK_S)
        look = await job.look(_connections(), job_.target, job_.attempt, offset=job_.offset)
        verdict = job.verdict(look, suspected=True, boot_id_at_start=job_.boot_id or None)
    return Looked(look, verdict)


async def _start(job_: Job) -> Started:
    connections, attempt = _connections(), job_.attempt
    for number in range(1, attempt.number):
        await job.cancel(connections, job_.target, replace(attempt, number=number))
    facts = {pk: await probe.probe(connections, t, prefixes=folders) for pk, (t, folders) in job_.to_probe.items()}
    before = await telemetry.host_snapshot(connections, job_.server) if job_.server else None
    try:
        outcome = await job.start(connections, job_.target, attempt, job_.spec, password=job_.password)
    except RemoteFailure:
        # The tombstone makes sure that nothing of this attempt can begin after it was given up.
        await job.cancel(connections, job_.target, attempt)
        raise
    return Started(outcome, facts, before)


async def _cancel(job_: Job) -> Answer:
    await job.cancel(_connections(), job_.target, job_.attempt)
    looked = await _look(job_)
    return looked if looked.verdict.state == "finished" else Cancelled()


async def _collect(job_: Job) -> Ended:
    connections = _connections()
    collected = await job.collect(connections, job_.target, job_.attempt, cap_bytes=COLLECT_CAP_BYTES)
    after = await telemetry.host_snapshot(connections, job_.server) if job_.server else None
    return Ended(collected, after)


async def _wait_for_end(job_: Job, wake: Wake) -> None:
    """Hold an exec until the job's lock is free, then wake a worker. Only a shortcut: looks find the end as well."""
    run_id = job_.claim.run_id
    if run_id in _watched:
        return
    _watched.add(run_id)
    try:
        await job.wait_for_end(_connections(), job_.target, job_.attempt, timeout_s=job_.expected_s + 3600)
    except (Unreachable, RemoteFailure, HostKeyChanged) as error:
        logger.info("No notice of the end of run %s: %s", run_id, error)
        return
    finally:
        _watched.discard(run_id)
    await asyncio.to_thread(wake, run_id)


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
        queue.look_again(job_.claim, RETRY_AFTER, contact_error=str(error) or "The host did not answer in time.")
    except Exception as error:  # one run's trouble must not keep the others of the batch waiting
        logger.exception("A step of run %s failed", job_.claim.run_id)
        queue.look_again(job_.claim, RETRY_AFTER, contact_error=f"BenchHub failed at this step: {error!r}.")


def _write(job_: Job, answer: Answer, wake: Wake) -> None:
    if isinstance(answer, Started):
        _write_started(job_, answer, wake)
    elif isinstance(answer, Ended):
        _write_ended(job_, answer)
    elif isinstance(answer, Cancelled):
        with queue.fenced(job_.claim) as run:
            queue.finish(run, job_.claim, State.CANCELLED, "Cancelled.")
    else:
        _write_look(job_, answer, wake)


def _write_started(job_: Job, answer: Started, wake: Wake) -> None:
    for host, facts in answer.facts.items():
        Host.objects.filter(pk=host).update(facts=facts, facts_at=Now())
    if answer.outcome is job.StartOutcome.BUSY:
        reason = "Another job still runs on the host; the run starts when it has ended."
        queue.look_again(job_.claim, RETRY_AFTER, contact_error=reason)
        return
    with queue.fenced(job_.claim) as run:
        if answer.outcome is job.StartOutcome.TOMBSTONED:
            queue.finish(run, job_.claim, State.CANCELLED, "Its attempt was cancelled on the host.")
            return
        Attempt.objects.filter(run=run, ended_at=None).update(host_before=answer.host_before)
        queue.move(run, State.RUNNING, fence=job_.claim.fence)
    after = min(LOOK_EVERY, timedelta(seconds=job_.expected_s + 5))
    queue.look_again(job_.claim, after, contact_error="", last_contact_at=Now())
    loop.submit(_wait_for_end(job_, wake))


def _write_look(job_: Job, looked: Looked, wake: Wake) -> None:
    look, fate = looked.look, looked.verdict.state
    with queue.fenced(job_.claim) as run:
        Attempt.objects.filter(run=run, ended_at=None, boot_id="").update(boot_id=look.boot_id)
        if fate == "finished":
            _enter_collecting(run, job_.claim)
        elif fate in ("lost", "absent"):
            queue.finish(run, job_.claim, State.LOST, looked.verdict.reason)
            return
    queue.look_again(
        job_.claim,
        timedelta(0) if fate == "finished" else LOOK_EVERY,
        contact_error="",
        last_contact_at=Now(),
        step=look.step,
        progress_offset=F("progress_offset") + len(look.chunk),
        **live_tps(look.chunk),
    )
    if fate == "running":
        loop.submit(_wait_for_end(job_, wake))


def _enter_collecting(run: Run, claim: queue.Claim) -> None:
    if run.state == State.STARTING:
        queue.move(run, State.RUNNING, "It had begun before it was cancelled.", claim.fence)
    queue.move(run, State.COLLECTING, fence=claim.fence)


def live_tps(progress: bytes) -> dict[str, float]:
    """The newest throughput in what a load generator printed since the last look; empty where it printed none."""
    values = LIVE_TPS.findall(progress)
    return {"live_tps": float(values[-1])} if values else {}


def _write_ended(job_: Job, ended: Ended) -> None:
    """Store the evidence whatever it says, then what it means; outputs that nobody can read fail the run."""
    outputs = ended.collected.outputs
    with queue.fenced(job_.claim) as run:
        attempt = run.attempts.latest("number")
        Attempt.objects.filter(pk=attempt.pk).update(returncode=outputs.returncode)
        ingest.keep_evidence(attempt, outputs, ended.collected.manifest, ended.collected.remarks)
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
        loop.submit(job.acknowledge(_connections(), job_.target, job_.attempt)).result(timeout=30)
    except (Unreachable, RemoteFailure, HostKeyChanged, TimeoutError) as error:
        logger.warning("Run %s is stored, but its folder on the host stays: %s", job_.claim.run_id, error)


def _refused(job_: Job, reason: str) -> None:
    """The host answered with an error: a start has failed for good, anything else is looked at again."""
    if job_.state != State.STARTING:
        queue.look_again(job_.claim, RETRY_AFTER, contact_error=reason)
        return
    with queue.fenced(job_.claim) as run:
        queue.finish(run, job_.claim, State.FAILED, f"The job could not be started. {reason}")


def _quarantine(job_: Job, error: HostKeyChanged) -> None:
    """Nothing more is sent to a host whose key changed; its run stays as it is until a person has decided."""
    host = Host.objects.filter(address=job_.target.address, port=job_.target.port, username=job_.target.username)
    host.update(trust=Host.Trust.QUARANTINED, offered_host_key=error.offered)
    queue.look_again(job_.claim, RETRY_AFTER, contact_error=str(error))


def _observed(run: Run, job_: Job, ended: Ended) -> ingest.Observed:
    """Parse the snapshots around the run; the host facts are those of the last probe, which stands beside it."""
    files = ended.collected.outputs.files
    before, after = (telemetry.parse_snapshot(files.get(name, b"")) for name in (BEFORE_FILE, AFTER_FILE))
    deltas = telemetry.deltas(before, after)
    if job_.server and job_.host_before and ended.host_after:
        deltas["server_host"] = telemetry.host_deltas(job_.host_before, ended.host_after)
    hosts = {host.name: _facts_of(host, job_.spec.bin_directory) for host in _hosts(run)}
    return ingest.Observed(
        settings=after.settings,
        server={**after.server, "system_identifier": after.system_identifier},
        host=hosts,
        stable_facts={
            "server": str(after.server.get("version", "")),
            "hosts": {name: probe.facts_digest_input(facts) for name, facts in hosts.items()},
            "settings": {name: str(row["setting"]) for name, row in after.settings.items()},
        },
        deltas=deltas,
        restarted=bool(deltas.get("restarted")),
    )


def _facts_of(host: Host, bin_directory: str) -> dict[str, Any]:
    """What the last probe found, of the builds there only the one that drove the run."""
    facts = {name: value for name, value in host.facts.items() if name != "builds"}
    used = [build for build in host.facts.get("builds", ()) if build["bin_directory"] == bin_directory]
    return {**facts, "client_build": used[0]} if used else facts


# --- looking at a host ---------------------------------------------------------------------------------------


def visit_hosts() -> int:
    """Answer what people asked of hosts (Host.ask); returns how many were visited. Any worker may do it again."""
    due = Host.objects.exclude(wanted="").filter(Q(visit_until=None) | Q(visit_until__lt=Now()))
    asked = [(host, host.wanted) for host in due if _claim_visit(host)]
    visits = {loop.submit(_visit(target_of(host), wanted, _folders(host))): (host, wanted) for host, wanted in asked}
    for future in as_completed(visits):
        _note_visit(*visits[future], future)
    return len(asked)


def _claim_visit(host: Host) -> bool:
    free = Q(visit_until=None) | Q(visit_until__lt=Now())
    return bool(Host.objects.filter(free, pk=host.pk, wanted=host.wanted).update(visit_until=Now() + VISIT_LEASE))


def _folders(host: Host) -> list[str]:
    return sorted({instance.bin_directory for instance in host.instances.all() if instance.bin_directory})


async def _visit(target: Target, wanted: str, folders: list[str]) -> Any:
    async with asyncio.timeout(PROBE_TIMEOUT_S):
        if wanted == Host.Wanted.KEY:
            return await offered_host_key(target.address, target.port)
        return await probe.probe(_connections(), target, prefixes=folders)


def _note_visit(host: Host, wanted: str, future: Future[Any]) -> None:
    seen: dict[str, Any] = {"contact_error": "", "contacted_at": Now()}
    try:
        answer = future.result()
        seen |= _offered(host, answer) if wanted == Host.Wanted.KEY else {"facts": answer, "facts_at": Now()}
    except HostKeyChanged as error:
        seen = {"trust": Host.Trust.QUARANTINED, "offered_host_key": error.offered, "contact_error": str(error)}
    except (Unreachable, RemoteFailure, TimeoutError, ValueError) as error:
        seen = {"contact_error": str(error) or "The host did not answer in time."}
    Host.objects.filter(pk=host.pk, wanted=wanted).update(wanted="", visit_until=None, **seen)


def _offered(host: Host, key: str) -> dict[str, Any]:
    """What a host's offered key means: the pinned one again, the first one, or another one than was approved."""
    if host.host_key and key == host.host_key:
        return {"trust": Host.Trust.PINNED, "offered_host_key": ""}
    return {"trust": Host.Trust.QUARANTINED if host.host_key else Host.Trust.OFFERED, "offered_host_key": key}


def probe_host(host: Host, bin_directories: Iterable[str] = ()) -> None:
    """Store the facts of a host as found now; raises what the connection raises."""
    found = probe.probe(_connections(), target_of(host), prefixes=list(bin_directories))
    host.facts, host.facts_at = loop.submit(found).result(timeout=PROBE_TIMEOUT_S), timezone.now()
    host.save(update_fields=["facts", "facts_at"])
