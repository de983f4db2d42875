"""Answers of the steps on targets: each is written on the worker's thread, under the fence of its claim."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from django.db import DataError, IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Now

from benchhub.analysis import words
from benchhub.bench.models import Attempt, Run
from benchhub.bench.models.states import State
from benchhub.bench.plan import specs
from benchhub.bench.queue import queue
from benchhub.bench.results import ingest, live_log
from benchhub.bench.results.telemetry import own
from benchhub.catalog.models import Host
from runners import job, probe, tools
from runners.contract import UNGUARDED_FILE, Doubt
from runners.os_settings import answer as os_answer
from runners.poolers import answer as pooler_answer
from runners.poolers.script import FACTS_FILE as POOLER_FILE
from runners.readings import short
from runners.server_settings import answer as server_answer
from runners.ssh import HostKeyChanged, RemoteFailure, Unreachable

from . import looks, visits, workers
from .jobs import hosts_of, pause_unreadable, try_later
from .looks import FIRST_RETRY_AFTER, LOOK_EVERY, RETRY_AFTER
from .returns import HELD, Failed, count_senseless, goes_back, set_host_apart, wait_for_server_host
from .steps import end
from .steps.contract import (
    Acknowledged,
    Answer,
    Cancelled,
    Ended,
    Job,
    Looked,
    Refused,
    ServerAway,
    Started,
    Uncollectable,
    Withdrawn,
)
from .steps.look import MOST_WAITS, PUT_BACK_WITHIN, live_tps
from .steps.watch import Wake, watch

logger = logging.getLogger(__name__)

CONTACT: dict[str, Any] = {"last_contact_at": Now(), "unreachable_since": None}
WITHDRAWN = "Its start had been taken back on the host already: the next one is another attempt."
BUSY = "Another job still runs on the host; the run starts when it has ended."
FOLDER_GONE = (
    "Its folder is gone from where it was on its host, or was emptied: nothing can be collected. What still ran of its"
    " load there was ended."
)
HIDDEN = (
    "Its load goes on, but its folder is not where it was: its results are collected from where it is by then. Put the"
    " work directory back to where it was on the host before the load ends: the next run would make another one."
)
AWAITED = (
    "Its load has ended, and its folder is not where it was: put the work directory back to where it was on the host by"
    " {}, and its results are collected, or cancel the run. After that the run is lost."
)
NOT_PUT_BACK = (
    "Its folder was moved on its host under its load, and was not back"
    f" {words.duration(PUT_BACK_WITHIN.total_seconds())} after the load was last seen in it: nothing was collected."
)
UNGUARDED = (
    "The process that guards a load on its host was killed or stopped there, while the load went on: something on the"
    " host ends processes, for example where memory is short."
)
# What it had begun on its server ends by itself there, where nothing is left that would end it.
ORPHAN_ENDS_S = 45
# Longer than most runs last: whoever changed the server may be gone for good, and other runs wait for the host.
HELD_FOR = timedelta(hours=2)
HELD_TOO_LONG = (
    f"Another BenchHub, or another work directory, has changed settings of {{}} for {HELD_FOR.seconds // 3600} hours:"
    " the comment of the role benchhub_keeper on that server says where it runs. See that it ends, then resume."
)
WAITING = {job.StartOutcome.BUSY: BUSY, job.StartOutcome.HELD: HELD}
# What the warehouse raises where it refuses what was read.
UNFIT = (DataError, IntegrityError)
SIGNALLED = 128  # a shell's exit codes above this one tell of a signal


def write_all(arrived: Mapping[Future[Answer], Job], wake: Wake) -> list[Job]:
    """Write the answers that have arrived; return what is to be done next under the same claims."""
    for future, job_ in arrived.items():
        count_senseless(job_, future.exception())
    quiet = {future: job_ for future, job_ in arrived.items() if looks.is_quiet(job_, future)}
    looks.write([(job_, cast(Looked, future.result())) for future, job_ in quiet.items()], LOOK_EVERY)
    for job_ in quiet.values():
        watch(job_, wake)
    others = (write(job_, future, wake) for future, job_ in arrived.items() if future not in quiet)
    return [job_ for job_ in others if job_]


def write(job_: Job, future: Future[Answer], wake: Wake) -> Job | None:
    """Write an answer or the error in its place; return what is to be done next under the same claim, if anything."""
    try:
        return _write_answer(job_, future.result(), wake)
    except queue.StaleFenceError as error:
        logger.warning("%s Its answer was dropped.", error)
    except (HostKeyChanged, RemoteFailure, Unreachable, TimeoutError) as error:
        workers.count_ssh_error()
        _write_failure(job_, error)
    except Exception as error:  # one run's trouble must not keep the others of the batch waiting
        logger.exception("A step of run %s failed", job_.claim.run_id)
        try_later(job_.claim, error)
    return None


def _write_failure(job_: Job, error: HostKeyChanged | RemoteFailure | Unreachable | TimeoutError) -> None:
    if isinstance(error, HostKeyChanged):
        # Nothing more is sent to this host; the run stays as it is until a person has decided.
        visits.quarantine([key for key, target in job_.hosts.items() if target == error.target], error)
        queue.look_again(job_.claim, RETRY_AFTER, contact_error=str(error))
    elif isinstance(error, RemoteFailure):
        # It says nothing about the job, which may have begun: the run stays as it is.
        after = FIRST_RETRY_AFTER if job_.cancel_asked else RETRY_AFTER
        queue.look_again(job_.claim, after, **CONTACT, contact_error=str(error))
    else:
        _write_unreached(job_, error)


def _write_answer(job_: Job, answer: Answer, wake: Wake) -> Job | None:
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


def _write_stopped(job_: Job, answer: Cancelled | Withdrawn | Refused | ServerAway | Uncollectable) -> None:
    if isinstance(answer, Cancelled | Uncollectable) and answer.unrestored:
        set_host_apart(job_, answer.unrestored)
    if isinstance(answer, Uncollectable) and answer.senseless:
        set_host_apart(job_, answer.reason, answer.senseless)
    with queue.fenced(job_.claim) as run:
        if isinstance(answer, Cancelled) or run.cancel_asked_at:
            queue.finish(run, job_.claim, State.CANCELLED, "Cancelled.")
        elif isinstance(answer, Refused):
            set_host_apart(job_, f"It refused to start a run: {answer.reason}", answer.target)
            queue.give_back(run, job_.claim, f"Its host refused to start it, and was paused. {answer.reason}")
        elif isinstance(answer, ServerAway):
            wait_for_server_host(run, job_, answer)
        elif isinstance(answer, Uncollectable):
            reason = f"It ended, but its host did not hand over what it left in {end.MOST_COLLECTIONS} tries."
            queue.finish(run, job_.claim, State.FAILED, f"{reason} {answer.reason}")
        else:
            if job_.blocked:  # a start that was merely too late pauses nothing
                pause_unreadable(run)
            queue.give_back(run, job_.claim, job_.too_late or job_.blocked)


def _note_contact(job_: Job, answer: Answer) -> None:
    """Note that the driver has answered; at a run's start and end the server's host has as well."""
    counters = (
        answer.host_before if isinstance(answer, Started) else answer.host_after if isinstance(answer, Ended) else None
    )
    drivers = {key for key, target in job_.hosts.items() if target == job_.target}
    answered = drivers if counters is None else set(job_.hosts)
    if back := answered & job_.away:
        visits.note_reached(back)


def _write_unreached(job_: Job, error: Unreachable | TimeoutError) -> None:
    """Note since when a host is away. It says nothing about the job: the run stays as it is."""
    sentence = str(error) or "The host did not answer in time."
    since = Coalesce(F("unreachable_since"), Now())
    silent = getattr(error, "target", None) or job_.target
    after = RETRY_AFTER if job_.away and not job_.cancel_asked else FIRST_RETRY_AFTER
    if queue.look_again(job_.claim, after, contact_error=sentence, unreachable_since=since):
        visits.note_unreached([key for key, target in job_.hosts.items() if target == silent], sentence)


def _write_started(job_: Job, answer: Started, wake: Wake) -> None:
    with queue.fenced(job_.claim) as run:
        for host, facts in answer.facts.items():
            Host.objects.filter(pk=host).update(facts=visits.with_builds(host, facts), facts_at=Now())
        if answer.outcome is job.StartOutcome.WITHDRAWN and not run.cancel_asked_at:
            queue.give_back(run, job_.claim, WITHDRAWN)
            return
        if answer.outcome in (job.StartOutcome.TOMBSTONED, job.StartOutcome.WITHDRAWN):
            queue.finish(run, job_.claim, State.CANCELLED, "Its attempt was cancelled on the host.")
            return
        if sentence := WAITING.get(answer.outcome):
            after = RETRY_AFTER if run.watch.contact_error == sentence else FIRST_RETRY_AFTER
            queue.look_again(job_.claim, after, **CONTACT, contact_error=sentence)
            if answer.outcome is job.StartOutcome.HELD:
                _count_wait(job_)
                _pause_held(run)
            return
        if answer.outcome is job.StartOutcome.STARTED:  # else it was counted under the load
            Attempt.objects.filter(run=run, ended_at=None).update(host_before=answer.host_before)
        queue.move(run, State.RUNNING, fence=job_.claim.fence)
        after = min(LOOK_EVERY, timedelta(seconds=job_.expected_s + 5))
        queue.look_again(job_.claim, after, **CONTACT, contact_error="")
    watch(job_, wake)


def _pause_held(run: Run) -> None:
    """Pause the experiment of a run that waits for its server too long: its next step takes the start back.

    Looks are counted, and no hours: a clock may be set.
    """
    if run.attempts.filter(ended_at=None, waits__gt=HELD_FOR // RETRY_AFTER).exists():
        queue.pause(run.experiment, HELD_TOO_LONG.format(run.system.instance))


def _write_look(job_: Job, looked: Looked, wake: Wake) -> Job | None:
    """Write a look; return the collection, under the same claim, where the job has finished."""
    look, state = looked.look, looked.verdict.state
    with queue.fenced(job_.claim) as run:
        if looked.is_awaited:
            _await_folder(job_)
            return None
        Attempt.objects.filter(run=run, ended_at=None, boot_id="").update(boot_id=look.boot_id)
        if look.is_hidden or (look.started and job_.hidden_at):
            Attempt.objects.filter(run=run, ended_at=None).update(hidden_at=Now() if look.is_hidden else None, waits=0)
        if state == "running" and run.state == State.STARTING:
            queue.move(run, State.RUNNING, "It had begun before its start was confirmed.", job_.claim.fence)
        if state == "finished":
            _enter_collecting(run, job_.claim)
        elif state in ("lost", "absent"):
            if looked.unrestored:
                set_host_apart(job_, looked.unrestored)
            _write_lost(run, job_, looked)
            return None
        live_log.keep(run, "err", look.err_from, look.chunk)
        live_log.keep(run, "out", look.out_from, look.out_chunk)
        observed: dict[str, Any] = {
            **CONTACT,
            "contact_error": HIDDEN if look.is_hidden and state == "running" else "",
            "step": look.step,
            "progress_offset": look.err_from + len(look.chunk),
            "out_offset": look.out_from + len(look.out_chunk),
            **live_tps(look.chunk),
        }
        if state == "finished":
            queue.keep(job_.claim, **observed)
            version = run.system.build.version
            return replace(job_, state=State.COLLECTING, spec=specs.spec_of(run), server_version=version)
        queue.look_again(job_.claim, LOOK_EVERY, **observed)
    watch(job_, wake)
    return None


def _await_folder(job_: Job) -> None:
    """Have the run wait for a folder that was moved under its load, and say until when."""
    now = _count_wait(job_)
    sentence = AWAITED.format(f"{now + (MOST_WAITS - job_.waits) * RETRY_AFTER:%Y-%m-%d %H:%M} UTC")
    queue.look_again(job_.claim, RETRY_AFTER, **CONTACT, contact_error=sentence)


def _count_wait(job_: Job) -> datetime:
    """Count a look at which the attempt waited; return the warehouse's time."""
    attempt = Attempt.objects.filter(run=job_.claim.run_id, ended_at=None)
    attempt.update(waits=F("waits") + 1)
    return cast(datetime, attempt.values_list(Now(), flat=True).get())


def _write_lost(run: Run, job_: Job, looked: Looked) -> None:
    """End a run that is lost; where its folder went under the load, its hosts rest until that has ended."""
    if looked.verdict.state == "absent" and run.state == State.RUNNING:
        reason = NOT_PUT_BACK if job_.hidden_at else FOLDER_GONE
        queue.finish(run, job_.claim, State.LOST, reason, ORPHAN_ENDS_S)
    else:
        queue.finish(run, job_.claim, State.LOST, looked.verdict.reason)


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
        if ended.unrestored:
            set_host_apart(job_, f"Settings of {run.system.instance} were not put back: {ended.unrestored}")
        attempt.live_logs.all().delete()
        if run.cancel_asked_at and (outputs.returncode or 0) > SIGNALLED:
            state, reason = State.CANCELLED, "Cancelled while it ran."
        else:
            state, reason = store_outputs(run, attempt, job_, ended)
        if state != State.FAILED or not goes_back(Failed(run, job_, outputs, reason)):
            queue.finish(run, job_.claim, state, reason)
            if state == State.FAILED and ingest.refuses_scripts(outputs):
                queue.fail_alike(run, reason)
    return replace(job_, state=state)  # to be acknowledged: a step of its own, so that no other end waits for it


def store_outputs(run: Run, attempt: Attempt, job_: Job, ended: Ended) -> tuple[State, str]:
    """Store what the outputs mean; return how the run ended, and why. Outputs that cannot be read fail it."""
    remarks = list(ended.collected.remarks.values())
    if UNGUARDED_FILE in ended.collected.outputs.files:
        remarks.append(UNGUARDED)
    planned = ended.readings.telemetry
    missing = own.store(run, planned.get) if planned else []
    try:
        with transaction.atomic():
            observed = replace(_observed(run, job_, ended), remarks=missing)
            state, reason = ingest.store(
                run, attempt, ended.collected.outputs, ended.readings.result, observed, remarks
            )
            return state, short(reason)
    except (*tools.UNREADABLE, *UNFIT) as error:
        logger.exception("The outputs of run %s cannot be read", run.pk)
        cause = short(repr(error), ingest.LONGEST_REASON)
        reason = f"BenchHub cannot read what the run left behind ({cause}); its evidence is kept as it came."
        return State.FAILED, short(" ".join([reason, *remarks]))


def _observed(run: Run, job_: Job, ended: Ended) -> ingest.Observed:
    """Return what was counted around the run; the host facts are those of the last probe, which stands beside it."""
    counters = end.counters(job_, ended)
    changed = [_changed_os(job_, ended), _changed_server(job_, ended)]
    hosts = {host.name: _driver_facts(host, job_.spec.bin_directory) for host in hosts_of(run)}
    pooler, pooler_doubts = _pooler(run, job_, ended)
    return ingest.Observed(
        settings=counters.settings,
        server=counters.server,
        host=hosts,
        pooler=pooler,
        stable_facts={
            "server": str(counters.server.get("version", "")),
            "hosts": {name: probe.facts_digest_input(facts) for name, facts in hosts.items()},
            "settings": {name: str(row["setting"]) for name, row in counters.settings.items()},
            **({"pooler": pooler} if pooler else {}),
        },
        limits=probe.limits_digest_input(_limited(run, hosts)),
        deltas={**counters.deltas, **{name: value for facts, _ in changed for name, value in facts.items()}},
        doubts=(
            *(doubt for _, doubts in changed for doubt in doubts),
            *pooler_doubts,
            *(() if job_.spec.server_settings else server_answer.neighbour_doubts(counters.deltas)),
        ),
        restarted=bool(counters.deltas.get("restarted")),
    )


def _limited(run: Run, hosts: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the hosts on which BenchHub's account runs a part of the load; somebody's server has limits of its own."""
    names = {run.system.driver.name, *(hosts if run.system.instance.own_cluster else ())}
    return {name: facts for name, facts in hosts.items() if name in names}


def _changed_os(job_: Job, ended: Ended) -> tuple[dict[str, Any], Iterable[Doubt]]:
    """Return what the log says of the operating system's settings, where the run changed any, and the doubts."""
    log = os_answer.read_log(ended.collected.outputs.files.get(os_answer.LOG_FILE, b""))
    planned = job_.spec.cluster.os_settings if job_.spec.cluster else {}
    return ({"os_settings": os_answer.facts(log)} if planned else {}), os_answer.doubts(planned, log)


def _changed_server(job_: Job, ended: Ended) -> tuple[dict[str, Any], Iterable[Doubt]]:
    """Return what the log says of the settings of somebody's server, where the run changed any, and the doubts."""
    planned = job_.spec.server_settings.settings if job_.spec.server_settings else {}
    log = server_answer.read_log(ended.collected.outputs.files.get(server_answer.LOG_FILE, b""), planned)
    doubts = server_answer.doubts(planned, log, is_put_back=not ended.unrestored)
    return ({"server_settings": server_answer.facts(log)} if planned else {}), doubts


def _pooler(run: Run, job_: Job, ended: Ended) -> tuple[dict[str, str], list[Doubt]]:
    """Return what the pooler said of itself, and the doubts that come of it; nothing where there is none."""
    if job_.spec.pooler is None:
        return {}, []
    log = ended.collected.outputs.files.get(POOLER_FILE, b"")
    facts = pooler_answer.read_file(log, job_.spec.endpoint.user)
    planned = run.system.description.get("pooler", {})
    return facts.facts, pooler_answer.doubts(job_.spec.pooler, planned, facts)


def _driver_facts(host: Host, bin_directory: str) -> dict[str, Any]:
    """Return what the last probe saw, of the builds there only the one that drove the run."""
    facts = {name: value for name, value in host.facts.items() if name not in ("builds", "servers")}
    builds = [build for build in host.facts.get("builds", ()) if build["bin_directory"] == bin_directory]
    return {**facts, "client_build": builds[0]} if builds else facts
