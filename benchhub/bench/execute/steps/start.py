"""Starts of a run: probe, look at its server, then begin; or take a start back, or go on with what has begun."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchhub.bench.execute.connections import connections
from runners import job, probe, tools
from runners.server_settings.put_back import UNDER_WAY, put_back
from runners.ssh import RemoteFailure, Target, Unreachable

from . import observing
from .contract import Job, Looked, Refused, ServerAway, Started, Withdrawn
from .look import look
from .server import end_observing, snapshot

logger = logging.getLogger(__name__)

BUSY = job.StartOutcome.BUSY

MOST_ENDED = 1000

_ended: OrderedDict[tuple[str, int], None] = OrderedDict()


async def start(job_: Job) -> Started | Looked | Refused | ServerAway:
    """Start the attempt once no earlier one can begin any more; adopt it where it has begun already.

    Where the host of its server is away or refuses, it is taken back: its driver waits for nobody.
    """
    pool, attempt = connections(), job_.attempt
    if not job_.is_new and (looked := await look(job_)).verdict.state != "absent":
        return looked  # before anything is counted, put back or refused under its load
    for earlier in job_.earlier:
        await _end_once(job_, earlier)
    try:
        facts = {pk: read for pk in job_.to_probe if (read := await _facts(job_, pk)) is not None}
        if job_.server and (reason := await put_back(pool, job_.server, job_.server_work_directory)):
            if reason == UNDER_WAY:
                return Started(BUSY, facts, None)
            return await _given_up(job_, RemoteFailure(reason, None), job_.server)
        before = await snapshot(job_, is_before=True)
        await observing.begin(pool, job_)
    except (Unreachable, RemoteFailure) as error:
        return await _without_server(job_, error)
    try:
        outcome = await job.start(pool, job_.target, attempt, job_.spec, password=job_.password)
        if outcome is BUSY and await _end_leftovers(job_):
            outcome = await job.start(pool, job_.target, attempt, job_.spec, password=job_.password)
    except RemoteFailure as error:
        return await _given_up(job_, error)
    if outcome in (job.StartOutcome.TOMBSTONED, job.StartOutcome.WITHDRAWN):
        await end_observing(job_)
    if outcome not in (BUSY, job.StartOutcome.HELD):
        _forget_earlier(job_)
    return Started(outcome, facts, before)


async def _end_once(job_: Job, attempt: job.Attempt) -> None:
    """Forbid an attempt to begin, and end what is left of it; once, however often a later start is tried."""
    if (attempt.run, attempt.number) in _ended:
        return
    await job.cancel(connections(), job_.target, attempt, is_withdrawn=True)
    _ended[attempt.run, attempt.number] = None
    if len(_ended) > MOST_ENDED:
        _ended.popitem(last=False)


def _forget_earlier(job_: Job) -> None:
    """Ask again at the start of another attempt: by then the host may have lost what it was told."""
    for earlier in job_.earlier:
        _ended.pop((earlier.run, earlier.number), None)


async def withdraw(job_: Job) -> Looked | Withdrawn:
    """Take back a start whose time has passed, or that may not be; what has begun goes on: it may have been in time."""
    looked = await look(job_)
    if looked.verdict.state != "absent":
        return looked
    await job.cancel(connections(), job_.target, job_.attempt, is_withdrawn=True)
    await end_observing(job_)
    return Withdrawn()


async def _without_server(job_: Job, error: Unreachable | RemoteFailure) -> Looked | ServerAway:
    """Take the start back, behind a tombstone, where the host of its server failed; what has begun goes on.

    Raises what the driver raises, and the error itself where that came from the driver: then it is started again.
    """
    looked = await look(job_)
    if looked.verdict.state != "absent":
        return looked
    if job_.server is None or getattr(error, "target", None) == job_.target:
        raise error
    await _end_once(job_, job_.attempt)
    return ServerAway(str(error), isinstance(error, Unreachable))


async def _given_up(job_: Job, error: RemoteFailure, refusing: Target | None = None) -> Looked | Refused:
    """Look before the start is given up: what has begun goes on, or is lost. A tombstone keeps the rest from beginning.

    A host that is read-only takes no tombstone, but nothing can begin there either once the start has ended with an
    exit code of its own. Raises RemoteFailure where nothing tells that it has, or where another start of the same
    attempt is still at work: then it is started again.
    """
    looked = await look(job_)
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
    await end_observing(job_)
    return Refused(str(error), refusing)


async def _facts(job_: Job, host: int) -> Mapping[str, Any] | None:
    """Return what a probe sees; None where it sees nothing: the facts of before then stand beside the run."""
    target, folders = job_.to_probe[host]
    try:
        return await probe.probe(connections(), target, prefixes=folders)
    except (RemoteFailure, *tools.UNREADABLE) as error:
        logger.warning("No facts of %s for run %s: %s", target.place, job_.claim.run_id, error)
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
