"""One visit to a build on its host: a step forward, as plain data in and out. Nothing here touches the database."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from benchhub.bench.execute.steps.end import MOST_COLLECTIONS
from runners import job
from runners.builds import tags, work
from runners.builds.tags import TagError
from runners.builds.work import EMPTY_LOG, Order, Outcome
from runners.job import Attempt, StartOutcome
from runners.ssh import Connections, HostKeyChanged, RemoteFailure, Target, Unreachable
from runners.tools import UNREADABLE
from runners.verdict import judge

CANCELLED = "It was cancelled."
WITHDRAWN = "Its start failed, and BenchHub took it back: build it again."
GONE = "Nothing of it is on its host any more: its work directory was emptied or moved. Build it again."
UNCOLLECTABLE = f"It ended, but its host did not hand over what it left in {MOST_COLLECTIONS} tries. {{}}"
VISIT_TIMEOUT_S = 170.0
CANCEL_PATIENCE_S = 30.0
COLLECT_PATIENCE_S = 100.0  # within a visit, with a look before and after it
TOO_SLOW = f"It took more than {COLLECT_PATIENCE_S:g} s."
GRACE_S = 5
_failed_collections: Counter[Attempt] = Counter()


Purpose = Literal["resolve", "start", "look", "cancel", "tidy", "remove"]


@dataclass(frozen=True, slots=True)
class Visit:
    """What is to be done for a build: the next step, or to cancel, tidy up after or remove it."""

    purpose: Purpose
    target: Target
    attempt: Attempt
    order: Order
    log_offset: int = 0
    is_suspected: bool = False
    is_cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """Its tag is of this commit now, by which it is built."""

    commit: str


@dataclass(frozen=True, slots=True)
class Started:
    """Its job has begun, now or before."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Another job has the host: it has its turn later."""


@dataclass(frozen=True, slots=True)
class Goes:
    """It is at work: its step, and what its log has since the last look."""

    step: str
    chunk: bytes
    log_offset: int
    is_suspected: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """It has ended, well where the outcome has no error."""

    outcome: Outcome
    is_cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """What was to be removed is gone: the build, or what its job left."""


Answer = Resolved | Started | Waits | Goes | Ended | Done


async def step(over: Connections, visit: Visit) -> Answer:
    """Take the step that the visit is for. Raises as `Connections.run`, and HostBusyError of a removal."""
    async with asyncio.timeout(VISIT_TIMEOUT_S):
        match visit.purpose:
            case "resolve":
                return await _resolve(over, visit)
            case "start":
                return await _start(over, visit)
            case "look":
                return await _look(over, visit)
            case "cancel":
                return await _cancel(over, visit)
            case "tidy":
                await _tidy(over, visit)
            case "remove":
                await work.remove(over, visit.target, visit.attempt, visit.order.recipe.digest)
    return Done()


async def _resolve(over: Connections, visit: Visit) -> Resolved | Ended:
    try:
        return Resolved(await tags.resolve(over, visit.target, visit.order.recipe))
    except TagError as error:
        return Ended(Outcome(EMPTY_LOG, str(error)))


async def _start(over: Connections, visit: Visit) -> Answer:
    try:
        outcome = await work.begin(over, visit.target, visit.attempt, visit.order)
    except RemoteFailure as error:
        if error.returncode is None:  # nobody knows whether it has begun: the next visit finds out
            raise
        return await _given_up(over, visit, error)
    if outcome is StartOutcome.BUSY:
        await _end_earlier(over, visit)
        return Waits()
    if outcome is StartOutcome.WITHDRAWN:
        return Ended(Outcome(EMPTY_LOG, WITHDRAWN))
    if outcome is StartOutcome.TOMBSTONED:
        return Ended(Outcome(EMPTY_LOG, CANCELLED), is_cancelled=True)
    return Started()


async def _end_earlier(over: Connections, visit: Visit) -> None:
    """End the attempt before this one, which may still keep the host busy where it was given up while that was away."""
    if visit.attempt.number > 1:
        earlier = replace(visit.attempt, number=visit.attempt.number - 1)
        await job.cancel(over, visit.target, earlier, grace_s=GRACE_S)


async def _given_up(over: Connections, visit: Visit, error: RemoteFailure) -> Started | Ended:
    """Give a start up that failed, unless it has begun: another worker's start may have. A tombstone keeps it from it.

    A host that is read-only takes no tombstone, but nothing can begin there either once the start has ended. Raises
    RemoteFailure where nothing tells so, or another start of it is at work: then it is started again.
    """
    if (await job.look(over, visit.target, visit.attempt)).started:
        return Started()
    try:
        await job.cancel(over, visit.target, visit.attempt, grace_s=GRACE_S, is_withdrawn=True)
    except RemoteFailure as failure:
        if failure.returncode in (None, job.ANOTHER_AT_WORK, job.NOT_ENDED):
            raise
    return Ended(Outcome(EMPTY_LOG, str(error)))


async def _look(over: Connections, visit: Visit) -> Answer:
    look = await job.look(over, visit.target, visit.attempt, out_offset=visit.log_offset)
    if look.is_overdue(visit.order.deadline_s):
        await job.end_overdue(over, visit.target, visit.attempt, visit.order.deadline_s)
        look = await job.look(over, visit.target, visit.attempt, out_offset=visit.log_offset)
    verdict = judge(look, suspected=visit.is_suspected, boot_id_at_start=None)
    if verdict.state == "running":
        return Goes(look.step, look.out_chunk, look.out_from + len(look.out_chunk), verdict.suspected)
    if verdict.state == "absent":
        await job.cancel(over, visit.target, visit.attempt, grace_s=GRACE_S)  # what runs on without its folder
        return Ended(Outcome(EMPTY_LOG, GONE))
    outcome = await _collect(over, visit, look.returncode)
    return Ended(outcome if verdict.state == "finished" else Outcome(outcome.log, verdict.reason))


async def _collect(over: Connections, visit: Visit, returncode: int | None) -> Outcome:
    """Return what it came to. A host that refuses to hand that over for good must not stay held for it."""
    try:
        outcome = await _collect_in_time(over, visit, returncode)
    except (RemoteFailure, TimeoutError, *UNREADABLE) as error:
        _failed_collections[visit.attempt] += 1
        if _failed_collections[visit.attempt] < MOST_COLLECTIONS:
            raise
        outcome = Outcome(EMPTY_LOG, UNCOLLECTABLE.format(error))
    _failed_collections.pop(visit.attempt, None)
    return outcome


async def _collect_in_time(over: Connections, visit: Visit, returncode: int | None) -> Outcome:
    """Return what it came to. Raises TimeoutError where that takes too long on a host that answers a look, and
    Unreachable where the host is away."""
    try:
        async with asyncio.timeout(COLLECT_PATIENCE_S):
            return await work.collect(over, visit.target, visit.attempt, visit.order, returncode)
    except TimeoutError:
        await job.look(over, visit.target, visit.attempt)
        raise TimeoutError(TOO_SLOW) from None


async def _cancel(over: Connections, visit: Visit) -> Answer:
    """End it; what had ended well before is a build all the same, if its host hands over what it is."""
    await job.cancel(over, visit.target, visit.attempt, grace_s=GRACE_S)
    log = EMPTY_LOG
    with suppress(RemoteFailure, Unreachable, HostKeyChanged, TimeoutError, *UNREADABLE):
        outcome = await asyncio.wait_for(_left(over, visit), CANCEL_PATIENCE_S)
        if not outcome.error:
            return Ended(outcome)
        log = outcome.log
    return Ended(Outcome(log, CANCELLED), is_cancelled=True)


async def _left(over: Connections, visit: Visit) -> Outcome:
    """Return what an attempt left that is at its end."""
    returncode = (await job.look(over, visit.target, visit.attempt)).returncode
    return await work.collect(over, visit.target, visit.attempt, visit.order, returncode)


async def _tidy(over: Connections, visit: Visit) -> None:
    """Clean up after its job, which may still run where its build was given up while its host was away."""
    if visit.is_cancelled:
        await job.cancel(over, visit.target, visit.attempt, grace_s=GRACE_S)
    await job.acknowledge(over, visit.target, visit.attempt)
