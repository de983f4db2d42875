"""The steps of a run on its targets: SSH, plain data in and out, no ORM. They run on the process's event loop.

Every step may be asked for again after any failure; the protocol on the target makes each take effect once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from benchhub.bench.models.states import FINAL, State
from benchhub.bench.queue.queue import Claim
from benchhub.bench.results import live_log, readings
from benchhub.bench.results.readings import Readings
from runners import counters as snapshots
from runners import job, probe, tools
from runners.collection import Collected
from runners.contract import RunSpec
from runners.script import AFTER_FILE, BEFORE_FILE
from runners.server_settings.put_back import UNDER_WAY, put_back
from runners.ssh import Connections, HostKeyChanged, RemoteFailure, Target, Unreachable

from . import loop, observing

logger = logging.getLogger(__name__)

STEP_TIMEOUT_S = 900
SECOND_LOOK_S = 0.5
ACKNOWLEDGE_TIMEOUT_S = 10.0  # what it misses is made up for later (tidy.py)
COLLECT_CAP_BYTES = 64 * 1024 * 1024
OBSERVER_PATIENCE_S = 10.0
CANCEL_PATIENCE_S = 20.0  # with the results of a run that has ended already
MOST_COLLECTIONS = 5
BUSY = job.StartOutcome.BUSY
SERVER_HOST, NO_COUNTERS = "server's host", "The server's host gave no counters: nothing tells how busy it was."

RETURNING = "The former settings of its server are being put back: the run ends when they are."
UNASKED = "The run was cancelled before its host could tell whether the former settings of its server are back."

Wake = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Job:
    """All that a step on the target needs to know, as plain data.

    `away` are the hosts, by key, that could not be reached at the last try. `too_late` says why the run may not
    start any more, if that is so: it goes back to the queue unless it has begun. `blocked` says why nothing may be
    started for now: what has begun is looked after all the same, by its driver alone.
    """

    claim: Claim
    state: str
    target: Target
    server: Target | None
    attempt: job.Attempt
    spec: RunSpec
    password: str | None = field(repr=False)
    expected_s: int
    offset: int
    out_offset: int
    boot_id: str
    cancel_asked: bool
    host_before: Mapping[str, Any] | None
    to_probe: Mapping[int, tuple[Target, list[str]]]
    hosts: Mapping[int, Target]
    away: frozenset[int] = frozenset()
    too_late: str = ""
    blocked: str = ""
    is_server_apart: bool = False
    server_work_directory: str = ""
    server_data_directory: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """`facts` are those of hosts that were probed again before the start, by the host's key."""

    outcome: job.StartOutcome
    facts: Mapping[int, Mapping[str, Any]]
    host_before: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The job's end as seen on the target, with everything it left.

    `unrestored` says why the attempt's change of a server could not be put back; empty where it could.
    """

    collected: Collected
    host_after: Mapping[str, Any] | None
    readings: Readings
    unrestored: str = ""


@dataclass(frozen=True, slots=True)
class Looked:
    """`unrestored` says why a lost attempt's change of a server could not be put back; empty where it could."""

    look: job.Look
    verdict: job.Verdict
    unrestored: str = ""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """`unrestored` says why the attempt's change of a server could not be put back; empty where it could."""

    unrestored: str = ""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Nothing of the attempt had begun, and nothing of it can begin any more."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The target has cleaned up after an attempt whose evidence is stored."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The host would not start the attempt, for reasons of its own, and nothing of it has begun.

    `target` is another host than the driver, where it is that one.
    """

    reason: str
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Uncollectable:
    """The host has refused again and again to hand over what a finished attempt left. `unrestored`: as of `Ended`."""

    reason: str
    unrestored: str = ""


Answer = Started | Looked | Ended | Cancelled | Withdrawn | Refused | Uncollectable | Acknowledged


@dataclass(frozen=True, slots=True)
class LastSign:
    """The newest sign of a run under way, at a moment of this process's monotonic clock.

    `times`: how many signs in a row had these sizes.
    """

    sign: job.Sign
    at_s: float
    times: int


_connections: list[Connections] = []
_watched: set[int] = set()
_last_signs: dict[int, LastSign] = {}
_failed_collections: Counter[int] = Counter()


def connections() -> Connections:
    """Return the connections of this process, which stay open from tick to tick."""
    if not _connections:
        _connections.append(Connections())
    return _connections[0]


async def step(job_: Job) -> Answer:
    async with asyncio.timeout(STEP_TIMEOUT_S):
        if job_.state in FINAL:
            return await _acknowledge(job_)
        if job_.cancel_asked and job_.state != State.COLLECTING:
            return await _cancel(job_)
        if job_.state == State.STARTING:
            return await (_withdraw(job_) if job_.too_late else _adopt(job_) if job_.blocked else _start(job_))
        if job_.state == State.COLLECTING:
            return await _collect_or_cancel(job_)
        return await _look(job_)


async def _look(job_: Job) -> Looked:
    """Look once, and once more where the first look suggests that the job was lost: it may have been between lines."""
    look = await _one_look(job_)
    verdict = job.verdict(look, suspected=False, boot_id_at_start=job_.boot_id or None)
    if verdict.suspected:
        await asyncio.sleep(SECOND_LOOK_S)
        look = await _one_look(job_)
        verdict = job.verdict(look, suspected=True, boot_id_at_start=job_.boot_id or None)
    if verdict.state == "lost" and job_.spec.cluster:
        await job.cancel(connections(), job_.target, job_.attempt)  # which stops the cluster that it may have left
    return Looked(look, verdict, await _put_back(job_) if verdict.state == "lost" else "")


async def _put_back(job_: Job) -> str:
    """Put back what the attempt changed of somebody's server and did not itself; return why that fails, if it does.

    The host is asked however the attempt ended: what its log lacks proves nothing. Raises RemoteFailure while somebody
    is at it, as nobody knows yet how that ends: the step is taken again.
    """
    if job_.spec.server_settings is None:
        return ""
    reason = await put_back(connections(), job_.target, job_.attempt.work_directory)
    if reason == UNDER_WAY:
        raise RemoteFailure(RETURNING, None)
    return reason


async def _one_look(job_: Job) -> job.Look:
    offsets = {"offset": job_.offset, "out_offset": job_.out_offset}
    return await job.look(connections(), job_.target, job_.attempt, **offsets)


async def _withdraw(job_: Job) -> Started | Looked | Refused | Withdrawn:
    """Take back a start whose time has passed; what has begun goes on, as a start may have been in time."""
    looked = await _look(job_)
    if looked.verdict.state != "absent":
        return looked if job_.blocked else await _start(job_)
    await job.cancel(connections(), job_.target, job_.attempt, is_withdrawn=True)
    await _end_observing(job_)
    return Withdrawn()


async def _adopt(job_: Job) -> Looked:
    """Go on with what has begun, although nothing may be started. Raises RemoteFailure where nothing has."""
    looked = await _look(job_)
    if looked.verdict.state == "absent":
        raise RemoteFailure(job_.blocked, None)
    return looked


async def _start(job_: Job) -> Started | Looked | Refused:
    pool, attempt = connections(), job_.attempt
    for number in range(1, attempt.number):
        await job.cancel(pool, job_.target, replace(attempt, number=number), is_withdrawn=True)
    try:
        facts = {pk: read for pk in job_.to_probe if (read := await _facts(job_, pk)) is not None}
        if job_.server and (reason := await put_back(pool, job_.server, job_.server_work_directory)):
            return Started(BUSY, facts, None) if reason == UNDER_WAY else Refused(reason, job_.server)
        before = await _server_snapshot(job_, is_before=True)
        await observing.begin(pool, job_)
    except Unreachable:
        looked = await _look(job_)
        if looked.verdict.state == "absent":
            raise  # without its server's host it waits, as long as it has not begun
        return looked
    try:
        outcome = await job.start(pool, job_.target, attempt, job_.spec, password=job_.password)
        if outcome is BUSY and await _end_leftovers(job_):
            outcome = await job.start(pool, job_.target, attempt, job_.spec, password=job_.password)
    except RemoteFailure as error:
        return await _given_up(job_, error)
    if outcome in (job.StartOutcome.TOMBSTONED, job.StartOutcome.WITHDRAWN):
        await _end_observing(job_)
    return Started(outcome, facts, before)


async def _given_up(job_: Job, error: RemoteFailure) -> Looked | Refused:
    """Look before the start is given up: what has begun goes on, or is lost. A tombstone keeps the rest from beginning.

    A host that is read-only takes no tombstone, but nothing can begin there either once the start has ended with an
    exit code of its own. Raises RemoteFailure where nothing tells that it has, or where another start of the same
    attempt is still at work: then it is started again.
    """
    looked = await _look(job_)
    if looked.verdict.state == "lost":
        reason = f"{looked.verdict.reason} Its start had failed: {error}"
        return replace(looked, verdict=replace(looked.verdict, reason=reason))
    if looked.verdict.state != "absent":
        return looked
    try:
        await job.cancel(connections(), job_.target, job_.attempt, is_withdrawn=True)
    except RemoteFailure as failure:
        if error.returncode is None or failure.returncode == job.ANOTHER_AT_WORK:
            raise
    await _end_observing(job_)
    return Refused(str(error))


async def _end_observing(job_: Job) -> None:
    """End the collector on the server's host, without waiting long for a host that is away: it ends by itself, too."""
    with suppress(TimeoutError, Unreachable):
        await asyncio.wait_for(observing.end(connections(), job_), OBSERVER_PATIENCE_S)


async def _facts(job_: Job, host: int) -> Mapping[str, Any] | None:
    """Return what a probe sees; None where it sees nothing: the facts of before then stand beside the run."""
    target, folders = job_.to_probe[host]
    try:
        return await probe.probe(connections(), target, prefixes=folders)
    except (RemoteFailure, *tools.UNREADABLE) as error:
        logger.warning("No facts of %s for run %s: %s", target.place, job_.claim.run_id, error)
        return None


async def _server_snapshot(job_: Job, *, is_before: bool) -> Mapping[str, Any] | None:
    """Return the counters of a server's host that is not the driver; None where it has none to give."""
    if job_.server is None:
        return None
    try:
        return await snapshots.host_snapshot(connections(), job_.server, is_before=is_before)
    except (RemoteFailure, *tools.UNREADABLE) as error:
        logger.warning("No counters of %s for run %s: %s", job_.server.place, job_.claim.run_id, error)
        return None


async def _end_leftovers(job_: Job) -> bool:
    """End what a job that has finished left running, if that keeps the host busy; tell whether it did."""
    run, _, number = (await job.look(connections(), job_.target, job_.attempt)).holder.partition(" ")
    if not number:
        return False
    holder = replace(job_.attempt, run=run, number=int(number))
    if (await job.look(connections(), job_.target, holder)).returncode is None:
        return False
    await job.cancel(connections(), job_.target, holder)
    return True


async def _cancel(job_: Job) -> Answer:
    await job.cancel(connections(), job_.target, job_.attempt)
    looked = await _look(job_)
    if looked.verdict.state == "finished":
        return looked  # its collection ends the collector
    await _end_observing(job_)
    return Cancelled(await _put_back(job_))


async def _collect_or_cancel(job_: Job) -> Ended | Cancelled | Uncollectable:
    """Collect what the job left. Where its host refuses that for good, the run ends.

    A cancel does not wait for it: the job has ended, so that nothing is left to be stopped on a host that is away.
    """
    if job_.cancel_asked:
        with suppress(RemoteFailure, Unreachable, HostKeyChanged, TimeoutError):
            return await asyncio.wait_for(_restored(job_), CANCEL_PATIENCE_S)
        return Cancelled(UNASKED if job_.spec.server_settings else "")
    return await _restored(job_)


async def _restored(job_: Job) -> Ended | Uncollectable:
    """Put back what the attempt changed of a server, then collect what it left."""
    unrestored = await _put_back(job_)
    return replace(await _collect_in_tries(job_), unrestored=unrestored)


async def _collect_in_tries(job_: Job) -> Ended | Uncollectable:
    try:
        ended = await _collect(job_)
    except (RemoteFailure, Unreachable) as error:
        if isinstance(error, Unreachable):
            await _require_answer(job_, error)
        _failed_collections[job_.claim.run_id] += 1
        if _failed_collections[job_.claim.run_id] < MOST_COLLECTIONS:
            raise
        return Uncollectable(str(error))
    _failed_collections.pop(job_.claim.run_id, None)
    return ended


async def _require_answer(job_: Job, error: Unreachable) -> None:
    """Raise Unreachable unless the collection took too long on a host that answers a look."""
    if not isinstance(error.__cause__, TimeoutError):
        raise error
    await _one_look(job_)


async def _collect(job_: Job) -> Ended:
    collected = await job.collect(connections(), job_.target, job_.attempt, cap_bytes=COLLECT_CAP_BYTES)
    try:
        after = await _server_snapshot(job_, is_before=False)
    except Unreachable:
        after = None
    if job_.is_server_apart and not (after and job_.host_before):
        remarks = {**collected.remarks, SERVER_HOST: NO_COUNTERS}
        collected = replace(collected, remarks=remarks)
    files = {**collected.outputs.files, **await observing.end(connections(), job_)}
    outputs = replace(collected.outputs, files=files)
    return Ended(replace(collected, outputs=outputs), after, await readings.read(job_.spec, outputs))


def watch(job_: Job, wake: Wake) -> None:
    """Have this process notice the end of the job, once however often it is asked to."""
    if job_.claim.run_id not in _watched:
        loop.submit(wait_for_end(job_, wake))


async def wait_for_end(job_: Job, wake: Wake) -> None:
    """Hold an exec until the job's lock is free, then wake a worker. It is a shortcut: looks find the end as well."""
    run_id = job_.claim.run_id
    if run_id in _watched:
        return
    _watched.add(run_id)
    try:
        timeout_s, on_sign = job_.expected_s + 3600, partial(_note_sign, run_id)
        await job.wait_for_end(connections(), job_.target, job_.attempt, timeout_s=timeout_s, on_sign=on_sign)
    except (Unreachable, RemoteFailure, HostKeyChanged) as error:
        logger.info("No notice of the end of run %s: %s", run_id, error)
        return
    finally:
        _watched.discard(run_id)
        _last_signs.pop(run_id, None)
    await asyncio.to_thread(wake, run_id)


def _note_sign(run_id: int, sign: job.Sign) -> None:
    before = _last_signs.get(run_id)
    times = before.times + 1 if before and before.sign == sign else 1
    _last_signs[run_id] = LastSign(sign, time.monotonic(), times)


def signs(max_age_s: float) -> dict[int, LastSign]:
    """Return the newest signs of runs under way by run, without those that are older."""
    now_s = time.monotonic()
    return {run_id: last for run_id, last in list(_last_signs.items()) if now_s - last.at_s < max_age_s}


async def _acknowledge(job_: Job) -> Acknowledged:
    try:
        await tidy(job_.target, job_.attempt)
    except (Unreachable, RemoteFailure, HostKeyChanged) as error:
        logger.warning("Run %s is stored, but its folder on the host stays for now: %s", job_.claim.run_id, error)
        raise
    return Acknowledged()


async def tidy(target: Target, attempt: job.Attempt) -> None:
    """Let the target clean up: its evidence is stored."""
    await job.acknowledge(connections(), target, attempt, timeout_s=ACKNOWLEDGE_TIMEOUT_S)


def live_tps(progress: bytes) -> dict[str, float]:
    """Return the newest throughput that a load generator printed since the last look; empty where it printed none."""
    values = live_log.rates(progress)
    return {"live_tps": values[-1]} if values else {}


@dataclass(frozen=True, slots=True)
class Counters:
    """The snapshots around a load, parsed: server settings and identity, and the differences in between."""

    settings: Mapping[str, Mapping[str, Any]]
    server: Mapping[str, Any]
    deltas: Mapping[str, Any]


def counters(job_: Job, ended: Ended) -> Counters:
    files = ended.collected.outputs.files
    before, after = (snapshots.parse_snapshot(files.get(name, b"")) for name in (BEFORE_FILE, AFTER_FILE))
    deltas = snapshots.deltas(before, after)
    if job_.server and job_.host_before and ended.host_after:
        deltas["server_host"] = snapshots.host_deltas(job_.host_before, ended.host_after)
    server = {**after.server, "system_identifier": after.system_identifier}
    return Counters(settings=after.settings, server=server, deltas=deltas)
