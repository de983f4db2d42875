"""One visit to a build on its host: a step forward, as plain data in and out. Nothing here touches the database."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from runners import job
from runners.builds import work
from runners.builds.work import EMPTY_LOG, Order, Outcome
from runners.job import Attempt, StartOutcome
from runners.ssh import Connections, RemoteFailure, Target

CANCELLED = "It was cancelled."
GONE = "Nothing of it is on its host any more: its work directory was emptied or moved. Build it again."
VISIT_TIMEOUT_S = 170.0
GRACE_S = 5


@dataclass(frozen=True, slots=True)
class Visit:
    """What is to be done for a build: the next step, or to cancel, tidy up after or remove it."""

    purpose: Literal["start", "look", "cancel", "tidy", "remove"]
    target: Target
    attempt: Attempt
    order: Order
    log_offset: int = 0
    is_suspected: bool = False


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


Answer = Started | Waits | Goes | Ended | Done


async def step(over: Connections, visit: Visit) -> Answer:
    """Take the step that the visit is for. Raises as `Connections.run`, and HostBusyError of a removal."""
    async with asyncio.timeout(VISIT_TIMEOUT_S):
        match visit.purpose:
            case "start":
                return await _start(over, visit)
            case "look":
                return await _look(over, visit)
            case "cancel":
                return await _cancel(over, visit)
            case "tidy":
                await job.acknowledge(over, visit.target, visit.attempt)
            case "remove":
                await work.remove(over, visit.target, visit.attempt, visit.order.recipe.digest)
    return Done()


async def _start(over: Connections, visit: Visit) -> Answer:
    try:
        outcome = await work.begin(over, visit.target, visit.attempt, visit.order)
    except RemoteFailure as error:
        if error.returncode is None:  # nobody knows whether it has begun: the next visit finds out
            raise
        return Ended(Outcome(EMPTY_LOG, str(error)))
    if outcome is StartOutcome.BUSY:
        return Waits()
    if outcome in (StartOutcome.TOMBSTONED, StartOutcome.WITHDRAWN):
        return Ended(Outcome(EMPTY_LOG, CANCELLED), is_cancelled=True)
    return Started()


async def _look(over: Connections, visit: Visit) -> Answer:
    look = await job.look(over, visit.target, visit.attempt, out_offset=visit.log_offset)
    verdict = job.verdict(look, suspected=visit.is_suspected, boot_id_at_start=None)
    if verdict.state == "running":
        return Goes(look.step, look.out_chunk, look.out_from + len(look.out_chunk), verdict.suspected)
    if verdict.state == "absent":
        return Ended(Outcome(EMPTY_LOG, GONE))
    outcome = await work.collect(over, visit.target, visit.attempt, visit.order, look.returncode)
    return Ended(outcome if verdict.state == "finished" else Outcome(outcome.log, verdict.reason))


async def _cancel(over: Connections, visit: Visit) -> Answer:
    """End it; what had ended well before is a build all the same."""
    await job.cancel(over, visit.target, visit.attempt, grace_s=GRACE_S)
    returncode = (await job.look(over, visit.target, visit.attempt)).returncode
    outcome = await work.collect(over, visit.target, visit.attempt, visit.order, returncode)
    return Ended(outcome) if not outcome.error else Ended(Outcome(outcome.log, CANCELLED), is_cancelled=True)
