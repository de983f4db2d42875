"""Ends of a run: cancel it, collect what it left, and let its target clean up."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from benchhub.bench.execute.connections import connections
from benchhub.bench.results import readings
from runners import counters as snapshots
from runners import job
from runners.script import AFTER_FILE, BEFORE_FILE
from runners.ssh import HostKeyChanged, RemoteFailure, Target, Unreachable

from . import observing
from .contract import Acknowledged, Answer, Cancelled, Ended, Job, Uncollectable
from .look import look, single_look
from .server import end_observing, put_back_settings, snapshot

logger = logging.getLogger(__name__)

ACKNOWLEDGE_TIMEOUT_S = 10.0  # what it misses is made up for later (tidy.py)
COLLECT_CAP_BYTES = 64 * 1024 * 1024
CANCEL_PATIENCE_S = 20.0  # with the results of a run that has ended already
MOST_COLLECTIONS = 5
SERVER_HOST, NO_COUNTERS = "server's host", "The server's host gave no counters: nothing tells how busy it was."
UNASKED = "The run was cancelled before its host could tell whether the former settings of its server are back."

_failed_collections: Counter[int] = Counter()
_slow_collections: Counter[int] = Counter()


@dataclass(frozen=True, slots=True)
class Counters:
    """The snapshots around a load, parsed: server settings and identity, and the differences in between."""

    settings: Mapping[str, Mapping[str, Any]]
    server: Mapping[str, Any]
    deltas: Mapping[str, Any]


async def cancel(job_: Job) -> Answer:
    """End the attempt; return a look at it where it had finished by then, so that it is collected."""
    await job.cancel(connections(), job_.target, job_.attempt)
    looked = await look(job_)
    if looked.verdict.state == "finished" and job_.has_plan:
        return looked  # its collection ends the collector
    await end_observing(job_)
    return Cancelled(await put_back_settings(job_))


async def collect_or_cancel(job_: Job) -> Ended | Cancelled | Uncollectable:
    """Collect what the job left. Where its host refuses that for good, the run ends.

    A cancel does not wait for it: the job has ended, so that nothing is left to be stopped on a host that is away.
    """
    if job_.cancel_asked:
        with suppress(RemoteFailure, Unreachable, HostKeyChanged, TimeoutError):
            return await asyncio.wait_for(_restored(job_), CANCEL_PATIENCE_S)
        return Cancelled(UNASKED if job_.spec.server_settings else "")
    return await _restored(job_)


async def _restored(job_: Job) -> Ended | Cancelled | Uncollectable:
    """Put back what the attempt changed of a server, then collect what it left; without its plan that stays there."""
    unrestored = await put_back_settings(job_)
    if not job_.has_plan:
        return Cancelled(unrestored)
    return replace(await _collect_in_tries(job_), unrestored=unrestored)


async def _collect_in_tries(job_: Job) -> Ended | Uncollectable:
    run_id = job_.claim.run_id
    try:
        ended = await _collect(job_)
    except (RemoteFailure, Unreachable) as error:
        await _require_answer(job_, error)
        _failed_collections[run_id] += 1
        _slow_collections[run_id] += isinstance(error, Unreachable)
        if _failed_collections[run_id] < MOST_COLLECTIONS:
            raise
        return Uncollectable(str(error), senseless=error.target if isinstance(error, job.SenselessAnswer) else None)
    for counted in (_failed_collections, _slow_collections):
        counted.pop(run_id, None)
    return ended


async def _require_answer(job_: Job, error: RemoteFailure | Unreachable) -> None:
    """Raise unless the collection failed, or took too long, on a host that answers a look at this very attempt.

    An account that runs nothing, or a folder that cannot be read, is no evidence of what the attempt left.
    """
    if isinstance(error, Unreachable) and not isinstance(error.__cause__, TimeoutError):
        raise error
    await single_look(job_)


async def _collect(job_: Job) -> Ended:
    # What a slow line does not carry in time is asked for in part: the rest is named, and stays on the host.
    cap_bytes = COLLECT_CAP_BYTES >> _slow_collections[job_.claim.run_id]
    collected = await job.collect(connections(), job_.target, job_.attempt, cap_bytes=cap_bytes)
    try:
        after = await snapshot(job_, is_before=False)
    except Unreachable:
        after = None
    if job_.is_server_apart and not (after and job_.host_before):
        remarks = {SERVER_HOST: NO_COUNTERS, **collected.remarks}
        collected = replace(collected, remarks=remarks)
    files = {**collected.outputs.files, **await observing.end(connections(), job_)}
    outputs = replace(collected.outputs, files=files)
    read = await readings.read(job_.spec, outputs, job_.server_version)
    return Ended(replace(collected, outputs=outputs), after, read)


def counters(job_: Job, ended: Ended) -> Counters:
    """Parse the snapshots around the load, those of the server's own host among them."""
    files = ended.collected.outputs.files
    before, after = (snapshots.parse_snapshot(files.get(name, b"")) for name in (BEFORE_FILE, AFTER_FILE))
    deltas = snapshots.deltas(before, after)
    if job_.server and job_.host_before and ended.host_after:
        deltas["server_host"] = snapshots.host_deltas(job_.host_before, ended.host_after)
    server = {**after.server, "system_identifier": after.system_identifier}
    return Counters(settings=after.settings, server=server, deltas=deltas)


async def acknowledge(job_: Job) -> Acknowledged:
    """Let the target clean up. Raises Unreachable, RemoteFailure and HostKeyChanged: its folder stays for now."""
    try:
        await tidy(job_.target, job_.attempt)
    except (Unreachable, RemoteFailure, HostKeyChanged) as error:
        logger.warning("Run %s is stored, but its folder on the host stays for now: %s", job_.claim.run_id, error)
        raise
    return Acknowledged()


async def tidy(target: Target, attempt: job.Attempt) -> None:
    """Let the target clean up: its evidence is stored."""
    await job.acknowledge(connections(), target, attempt, timeout_s=ACKNOWLEDGE_TIMEOUT_S)
