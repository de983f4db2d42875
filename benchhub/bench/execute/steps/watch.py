"""Watch a run until its end: one held exec in this process, and the signs that it gives meanwhile."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchhub.bench.execute import loop
from benchhub.bench.execute.connections import connections
from runners import job
from runners.ssh import HostKeyChanged, RemoteFailure, Unreachable
from runners.verdict import is_over

from .contract import Job

logger = logging.getLogger(__name__)

Wake = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class LastSign:
    """The newest sign of a run under way, at a moment of this process's monotonic clock.

    `times`: how many signs in a row had these sizes.
    """

    sign: job.Sign
    at_s: float
    times: int


_watched: set[int] = set()
_last_signs: dict[int, LastSign] = {}


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
        timeout_s, on_sign = job_.expected_s + 3600, partial(_note_sign, job_)
        place = (connections(), job_.target, job_.attempt)
        has_ended = await job.wait_for_end(*place, timeout_s=timeout_s, on_sign=on_sign)
    except (Unreachable, RemoteFailure, HostKeyChanged) as error:
        logger.info("No notice of the end of run %s: %s", run_id, error)
        return
    finally:
        _watched.discard(run_id)
        _last_signs.pop(run_id, None)
    if has_ended:
        await asyncio.to_thread(wake, run_id)


def _note_sign(job_: Job, sign: job.Sign) -> None:
    """Note the sign. One of a load that is past its deadline counts as the first: it puts no look off."""
    before = _last_signs.get(job_.claim.run_id)
    is_steady = before is not None and before.sign == sign and not is_over(sign.age_s, job_.spec.deadline_s)
    times = before.times + 1 if before and is_steady else 1
    _last_signs[job_.claim.run_id] = LastSign(sign, time.monotonic(), times)


def signs(max_age_s: float) -> dict[int, LastSign]:
    """Return the newest signs of runs under way by run, without those that are older."""
    now_s = time.monotonic()
    return {run_id: last for run_id, last in list(_last_signs.items()) if now_s - last.at_s < max_age_s}
